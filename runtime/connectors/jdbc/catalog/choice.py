"""The catalog for each kind of database."""

from __future__ import annotations

from runtime.connectors.jdbc.catalog.catalog import Catalog


def catalog_of(dialect: str) -> Catalog:
    """The catalog for SQLAlchemy's name of the kind of database."""
    if dialect == "postgresql":
        from runtime.connectors.jdbc.catalog.postgresql import PostgresCatalog

        return PostgresCatalog()
    if dialect == "sqlite":
        from runtime.connectors.jdbc.catalog.sqlite import SqliteCatalog

        return SqliteCatalog()
    if dialect in ("mysql", "mariadb"):
        from runtime.connectors.jdbc.catalog.mysql import MySqlCatalog

        return MySqlCatalog()
    return Catalog()

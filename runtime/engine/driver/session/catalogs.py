"""The catalogs in the worker's file: one that cannot be used is an error that names it and the remedy.

Iceberg's own lookup takes the name of such a catalog for a namespace of another one, and so its tables for missing.
"""

from __future__ import annotations

from typing import Any

from runtime.engine.driver.session.spark_errors import CatalogError, FailureKind, described, java_classes, spark_errors
from runtime.engine.driver.session.table_names import name_parts

_KEY = "spark.sql.catalog."
_ICEBERG = "org.apache.iceberg.exceptions."
_REFUSED = {
    "NotAuthorizedException": "refuses the worker: {error}. Check {key}.token or {key}.credential",
    "ForbiddenException": "refuses access: {error}. Grant the user of {key}.token or {key}.credential the rights",
    "NoSuchWarehouseException": "has no such warehouse: {error}. Check {key}.warehouse",
}
"""By the class of Iceberg's exception; another attempt does not help."""
_UNREACHABLE = ("RESTException", "ServiceUnavailableException", "ServiceFailureException")


def check_catalog(session: Any, table: str) -> None:
    """Load the catalog of an Iceberg table, unless that has been done. CatalogError if the worker's file does not
    define it, or if it cannot be used."""
    name, *others = name_parts(session, table)
    manager = session._jsparkSession.sessionState().catalogManager()
    if not others or not _is_defined(session, name):
        default = session.conf.get("spark.sql.defaultCatalog", "spark_catalog")
        if not _is_defined(session, default):
            raise CatalogError(_undefined(name if others else default, table), FailureKind.QUERY)
        name = default
    _activate(session)
    try:
        manager.catalog(name)
    except spark_errors() as error:
        raise catalog_error(name, error) from error


def _activate(session: Any) -> None:
    """Spark looks up the properties of a catalog in the active session, which a thread does not have that has neither
    created a session nor used one."""
    sessions = type(session)._get_j_spark_session_class(session._jvm)
    if not sessions.getActiveSession().isDefined():
        sessions.setActiveSession(session._jsparkSession)


def check_defined_catalog(session: Any, table: str) -> None:
    """As check_catalog(), for a table of any format, which may be in a catalog that Spark itself has."""
    if _is_defined(session, name_parts(session, table)[0]):
        check_catalog(session, table)


def catalog_error(name: str, error: BaseException) -> CatalogError:
    """The error of a catalog, from an exception of Spark or Iceberg."""
    key, text = f"{_KEY}{name}", described(error)
    classes = [java_class.removeprefix(_ICEBERG) for java_class in java_classes(error)]
    message = text.partition(f"{classes[0]}: ")[2] or text if classes else text
    for java_class, refusal in _REFUSED.items():
        if java_class in classes:
            reason = refusal.format(error=message, key=key)
            return CatalogError(f"The catalog {name} {reason} in the worker's file", FailureKind.QUERY)
    if any(java_class in classes for java_class in _UNREACHABLE):
        reason = f"is unreachable: {message}. Check {key}.uri in the worker's file, and the server"
        return CatalogError(f"The catalog {name} {reason}", FailureKind.OTHER)
    if "java.lang.ClassNotFoundException" in classes:
        reason = f"has no class: {message.rstrip('.')}. Check {key} and spark.packages in the worker's file"
        return CatalogError(f"The catalog {name} {reason}", FailureKind.QUERY)
    reason = f"cannot be used: {message}. Check the properties {key}.* in the worker's file"
    return CatalogError(f"The catalog {name} {reason}", FailureKind.OTHER)


def _is_defined(session: Any, name: str) -> bool:
    return session.conf.get(_KEY + name, None) is not None


def _undefined(name: str, table: str) -> str:
    return (
        f"The worker's file has no catalog {name}, which the table {table} needs: set {_KEY}{name}="
        f"org.apache.iceberg.spark.SparkCatalog and {_KEY}{name}.type there, or change spark.table"
    )


def loaded(session: Any, name: str) -> Any:
    """Iceberg's object for a table as it is now; None if the table does not exist. CatalogError if its catalog
    cannot be used."""
    from pyspark.errors import AnalysisException

    check_catalog(session, name)
    try:
        table = session._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, name)
    except AnalysisException:
        return None
    table.refresh()
    return table

"""The libraries that the JDBC connectors need."""

from __future__ import annotations

from importlib.util import find_spec

from runtime.api.errors import ConfigError


def require_sqlalchemy() -> None:
    """Raises ConfigError if SQLAlchemy is missing."""
    if find_spec("sqlalchemy") is None:
        raise ConfigError(
            "The JDBC connectors need SQLAlchemy: run pip install 'headrace[runtime]' in the worker's environment"
        )

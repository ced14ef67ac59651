"""Errors of Spark's catalogs: each names the catalog, the property and whether another attempt may help."""

from __future__ import annotations

import pytest

from runtime.engine.driver.session.catalogs import catalog_error
from runtime.engine.driver.session.spark_errors import FailureKind, kind_of

_ICEBERG = "org.apache.iceberg.exceptions."


class _JavaError:
    """An exception of the JVM, as py4j shows it."""

    def __init__(self, name: str, message: str, cause: _JavaError | None = None) -> None:
        self._name, self._message, self._cause = name, message, cause

    def getClass(self) -> _JavaError:
        return self

    def getName(self) -> str:
        return self._name

    def getMessage(self) -> str:
        return self._message

    def getCause(self) -> _JavaError | None:
        return self._cause


class _SparkError(Exception):
    def __init__(self, origin: _JavaError) -> None:
        super().__init__(f"{origin.getName()}: {origin.getMessage()}")
        self._origin = origin


@pytest.mark.parametrize(
    ("origin", "message", "kind"),
    [
        (
            _JavaError(_ICEBERG + "NotAuthorizedException", "Not authorized: wrong token"),
            "The catalog lake refuses the worker: Not authorized: wrong token. Check spark.sql.catalog.lake.token or "
            "spark.sql.catalog.lake.credential in the worker's file",
            FailureKind.QUERY,
        ),
        (
            _JavaError(_ICEBERG + "NoSuchWarehouseException", "no shop"),
            "The catalog lake has no such warehouse: no shop. Check spark.sql.catalog.lake.warehouse in the worker's "
            "file",
            FailureKind.QUERY,
        ),
        (
            _JavaError(_ICEBERG + "RESTException", "GET failed", _JavaError("java.net.ConnectException", "refused")),
            "The catalog lake is unreachable: GET failed: refused. Check spark.sql.catalog.lake.uri in the worker's "
            "file, and the server",
            FailureKind.OTHER,
        ),
        (
            _JavaError("org.apache.spark.SparkException", "no X", _JavaError("java.lang.ClassNotFoundException", "X")),
            "The catalog lake has no class: no X. Check spark.sql.catalog.lake and spark.packages in the "
            "worker's file",
            FailureKind.QUERY,
        ),
    ],
)  # fmt: skip
def test_the_error_names_the_catalog_and_the_remedy(origin: _JavaError, message: str, kind: FailureKind) -> None:
    error = catalog_error("lake", _SparkError(origin))
    assert str(error) == message
    assert kind_of(error) is kind

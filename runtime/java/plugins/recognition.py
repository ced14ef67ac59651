"""Recognizes Java connectors without importing what they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from runtime.api.connector import Connector
    from runtime.java.plugins.connector import JavaConnector


def is_java_connector(connector: Connector) -> TypeGuard[JavaConnector]:
    """Whether a connector is an object in a JVM."""
    return hasattr(connector, "java_target")

"""A class of a Python data source as a format of Spark. Only Spark's Python processes import it, not the driver."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from runtime.api.errors import ConfigError
from runtime.connectors.data_source.loading import check_class, class_of
from runtime.connectors.spark.config_keys import FORMAT
from runtime.engine.driver.session.queries import NotAQueryError
from runtime.engine.driver.session.registration import register


def register_class(session: Any, name: str) -> str:
    """Makes the class known to a session; returns the name of the format. NotAQueryError if its source does not tell
    that it is a data source."""
    try:
        check_class(name, FORMAT)
    except ConfigError as error:
        raise NotAQueryError(str(error)) from error
    source: Any = _ClassReference(*class_of(name))
    register(session, source)
    return str(source.name())


class _ClassReference:
    """Stands for a class; where it is unpickled, it is the class."""

    def __init__(self, module: str, cls: str) -> None:
        self._module, self._cls = module, cls

    def name(self) -> str:
        return f"{self._module}.{self._cls}"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        return imported, (self._module, self._cls)


def imported(module: str, cls: str) -> Any:
    """The class, with the name by which the session knows it."""
    source = getattr(importlib.import_module(module), cls)
    return type(cls, (source,), {"name": classmethod(lambda _: f"{module}.{cls}"), "__module__": module})

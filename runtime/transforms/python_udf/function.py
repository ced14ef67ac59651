"""A function of a user: how it is loaded and called, and what it may return."""

from __future__ import annotations

import importlib
import inspect
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from runtime.api.errors import ConfigError, ConnectError, DataError, RetriableError
from runtime.transforms.python_udf.frames import frame_of, is_frame, table_of_frame
from runtime.transforms.python_udf.reference import FunctionReference, no_function
from runtime.transforms.tables.errors import RefusedError

ARROW, TABLE, PANDAS = "arrow", "table", "pandas"
BATCHES = (ARROW, TABLE, PANDAS)
"""What a function may take: a RecordBatch or Table of pyarrow, or a DataFrame of pandas."""

_TYPES = {"RecordBatch": ARROW, "Table": TABLE, "DataFrame": PANDAS}
_STREAMS = ("Iterator", "Iterable", "Generator")


class UserFunction:
    """A function that takes and returns batches. `batch`: one of BATCHES; empty: the annotation of its parameter says
    it, without one ARROW. ConfigError if there is no such function."""

    def __init__(self, reference: FunctionReference, batch: str, label: str) -> None:
        """`label` names the transformation in messages."""
        self._call = _created(load_function(reference), reference)
        self._name = f"{label}: {reference}"
        self.batch, self._streams = _accepted(self._call, self._name, batch)

    def __str__(self) -> str:
        return self._name

    def __call__(self, rows: pa.RecordBatch) -> pa.Table | None:
        """What the function returns for the rows; None without any. DataError if it raises, RefusedError if it returns
        something else than batches."""
        try:
            given: Any = rows
            if self.batch == PANDAS:
                given = frame_of(rows)
            elif self.batch == TABLE:
                given = pa.Table.from_batches([rows])
            returned = self._call(iter([given]) if self._streams else given)
            if isinstance(returned, Iterator):
                returned = list(returned)
        except RetriableError:
            raise
        except ConnectError as error:
            if not error.tolerable:
                raise
            raise DataError(f"{self._name} fails: {error}") from error
        except Exception as error:
            raise DataError(f"{self._name} fails: {_text(error)}{_columns(error, rows)}") from error
        except BaseException as error:  # such as SystemExit
            raise RefusedError(f"{self._name} ends the process ({_text(error)}) instead of returning") from error
        return self._table(returned, rows)

    def _table(self, returned: Any, rows: pa.RecordBatch, shown: str = "") -> pa.Table | None:
        """What the function has returned as a table. `shown`: what it is a part of, for messages."""
        if isinstance(returned, list | tuple):
            whole = f"a {type(returned).__name__} with "
            tables = [table for part in returned if (table := self._table(part, rows, whole)) is not None]
            try:
                return pa.concat_tables(tables, promote_options="permissive") if tables else None
            except pa.ArrowException as error:
                raise RefusedError(f"{self._name} returns batches with different columns: {error}") from error
        if is_frame(returned):
            try:
                table = table_of_frame(returned, rows.schema)
            except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
                raise DataError(f"{self._name} returns a DataFrame that Arrow cannot represent: {error}") from error
        elif isinstance(returned, pa.RecordBatch):
            table = pa.Table.from_batches([returned])
        elif isinstance(returned, pa.Table):
            table = returned
        else:
            raise RefusedError(
                f"{self._name} returns {shown}{type(returned).__name__}: it must return a RecordBatch or Table of "
                "pyarrow, or a DataFrame of pandas"
            )
        if len(set(table.column_names)) < table.num_columns:
            raise RefusedError(f"{self._name} returns several columns of one name: {', '.join(table.column_names)}")
        return table


def load_function(reference: FunctionReference) -> Any:
    """The function, or the class whose instance is the function. ConfigError."""
    try:
        module = importlib.import_module(reference.module)
    except BaseException as error:  # such as SystemExit
        if isinstance(error, ModuleNotFoundError) and f"{reference.module}.".startswith(f"{error.name}."):
            raise ConfigError(f"There is no module {error.name}, which function={reference} names") from error
        raise ConfigError(
            f"The module {reference.module} of function={reference} cannot be imported: {_text(error)}"
        ) from error
    target: Any = module
    for part in reference.name.split("."):
        if not hasattr(target, part):
            raise ConfigError(no_function(reference, [name for name, value in vars(target).items() if callable(value)]))
        target = getattr(target, part)
        if inspect.ismodule(target):
            raise ConfigError(f"{reference}: {part} is a module. Name the module before the colon")
    if isinstance(target, type) and not any("__call__" in vars(cls) for cls in target.__mro__):
        raise ConfigError(f"{reference} is a class without __call__(), so that its instances cannot be called")
    if not callable(target):
        raise ConfigError(f"{reference} is {type(target).__name__}, not a function")
    return target


def check_function(reference: FunctionReference, batch: str) -> None:
    """ConfigError if there is no such function, or if it does not take such batches. Creates no instance of a class."""
    target = load_function(reference)
    if not isinstance(target, type):
        _accepted(target, str(reference), batch)


def _created(target: Any, reference: FunctionReference) -> Callable[[Any], Any]:
    if not isinstance(target, type):
        return typing.cast("Callable[[Any], Any]", target)
    try:
        return typing.cast("Callable[[Any], Any]", target())
    except BaseException as error:  # such as SystemExit
        raise ConfigError(f"{reference} cannot be created: {_text(error)}") from error


def _accepted(call: Callable[..., Any], name: str, batch: str) -> tuple[str, bool]:
    """What a function takes, and whether it takes an iterator of that."""
    annotated, streams = _parameter(call, name, bool(batch))
    if (batch or annotated) == PANDAS:
        try:
            importlib.import_module("pandas")
        except ImportError as error:
            raise ConfigError(
                f"{name} takes a pandas DataFrame, but pandas cannot be imported: {error}. Add pandas to the plugin "
                "environment of the function, or to the environment of the worker"
            ) from error
    return batch or annotated, streams


def _parameter(call: Callable[..., Any], name: str, chosen: bool) -> tuple[str, bool]:
    """What a function takes, as its annotation says, and whether it takes an iterator of that. `chosen`: the
    configuration says the former."""
    try:
        parameters = [*inspect.signature(call).parameters.values()]
    except (TypeError, ValueError):  # of a function without Python source
        return ARROW, False
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
    if len(required) > 1 or not places:
        count = len(required) if required else "no"
        raise ConfigError(f"{name} takes {count} arguments: it must take one, the batch")
    annotation = _annotation(call, places[0])
    text = "" if annotation in (inspect.Parameter.empty, Any) else _shown(annotation)
    streams = any(stream in text for stream in _STREAMS)
    batch = next((batch for kind, batch in _TYPES.items() if kind in text), "")
    if "polars" in text or (text and not batch and not streams and not chosen):
        raise ConfigError(
            f"{name} takes {text}: it must take a RecordBatch or Table of pyarrow, or a DataFrame of pandas. "
            f"Without an annotation, set batch to one of {', '.join(BATCHES)}"
        )
    return batch or ARROW, streams


def _annotation(call: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    function = call if inspect.isroutine(call) else type(call).__call__
    try:
        return typing.get_type_hints(function).get(parameter.name, inspect.Parameter.empty)
    except Exception:  # a name that exists for type checkers only
        return parameter.annotation


def _shown(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return f"{annotation.__module__}.{annotation.__qualname__}" if isinstance(annotation, type) else str(annotation)


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _columns(error: Exception, rows: pa.RecordBatch) -> str:
    """The columns that a function may use, after an error that may be about them."""
    return f" (columns: {', '.join(rows.schema.names)})" if isinstance(error, KeyError) else ""

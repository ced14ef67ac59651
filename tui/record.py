"""Immutable records, for the modules that every script line imports.

    @record
    class Task:
        id: int
        state: str = "UNKNOWN"

is used as a `@dataclass(frozen=True, slots=True)` is. But dataclasses brings inspect, ast, dis and tokenize, and
compiles six methods for each class: half of the time of a shell's completion went into classes nobody had used yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")
_UNSET: Any = object()


class _Field:
    """What stands behind a field's `=` when it is more than its default."""

    def __init__(self, default: Any, default_factory: Any, repr: bool, hash: bool) -> None:
        self.default, self.factory, self.shown, self.hashed = default, default_factory, repr, hash


def field(*, default: Any = _UNSET, default_factory: Any = None, repr: bool = True, hash: bool = True) -> Any:
    """As in dataclasses: a default made anew for each record, a value that is not shown, one that cannot be hashed."""
    return _Field(default, default_factory, repr, hash)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[T]) -> type[T]:
    """The class with slots for its annotations and the usual methods; a `__post_init__` is called."""
    names = tuple(kind.__annotations__)
    given = {name: vars(kind)[name] for name in names if name in vars(kind)}
    fields = {name: one if isinstance(one, _Field) else _Field(one, None, True, True) for name, one in given.items()}
    body = {key: value for key, value in vars(kind).items() if key not in (*names, "__dict__", "__weakref__")}
    body |= {"__slots__": names, "__match_args__": names, "__setattr__": _refuse, "__delattr__": _refuse}
    meta: Any = type(kind)
    made: Any = meta(kind.__name__, kind.__bases__, body)
    made.__init__ = _init(made, names, fields)
    values = attrgetter(*names)
    hashed = attrgetter(*(name for name in names if name not in fields or fields[name].hashed))
    shown = tuple(name for name in names if name not in fields or fields[name].shown)

    def equal(self: Any, other: object) -> bool:
        return bool(values(self) == values(other)) if other.__class__ is self.__class__ else NotImplemented

    made.__eq__ = equal
    made.__hash__ = lambda self: hash(hashed(self))

    def show(self: Any) -> str:
        return f"{made.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    made.__repr__ = show
    made.__reduce__ = lambda self: (made, tuple(getattr(self, name) for name in names))
    return made  # type: ignore[no-any-return]


def replace(one: T, /, **changes: Any) -> T:
    """The same record with other values."""
    kind: Any = type(one)
    return kind(**{**{name: getattr(one, name) for name in kind.__slots__}, **changes})  # type: ignore[no-any-return]


def _init(kind: Any, names: tuple[str, ...], fields: Mapping[str, _Field]) -> Callable[..., None]:
    """Compiled, since thousands are made; it writes through the slots' descriptors, past the frozen `__setattr__`."""
    scope: dict[str, Any] = {"_unset": _UNSET}
    parameters, lines = [], []
    for name in names:
        value, one = name, fields.get(name)
        scope[f"_set_{name}"] = vars(kind)[name].__set__
        if one is not None and one.factory is not None:
            scope[f"_make_{name}"] = one.factory
            value = f"_make_{name}() if {name} is _unset else {name}"
        if one is not None and (one.factory is not None or one.default is not _UNSET):
            scope[f"_default_{name}"] = one.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        lines.append(f" _set_{name}(self, {value})")
    if hasattr(kind, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec(f"def __init__(self, {', '.join(parameters)}):\n" + "\n".join(lines or [" pass"]), scope)
    made: Callable[..., None] = scope["__init__"]
    return made


def _refuse(self: Any, name: str, *value: Any) -> NoReturn:
    raise AttributeError(f"a {type(self).__name__} does not change: its {name} is what it was made with")

"""Checks that a message has the fields and types of its class in `messages`.

A slot runs code of plugins, and elsewhere belongs to another machine: a value of another type must not reach the
worker's loops, where it would fail again and again, or spoil the metrics of all tasks.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from runtime.engine.protocol import messages
from runtime.system.frames import FrameError

Check = Callable[[Any], bool]

_MAX_INT = 1 << 63


def check_from_slot(message: Mapping[str, Any]) -> None:
    """FrameError unless this is a message of a slot, or has an `op` that this version does not know."""
    _check(message, _from_slot())


def check_hello(message: Mapping[str, Any], kind: type) -> None:
    """FrameError unless this is the first message of a slot, of the class `kind`."""
    _check({**message, "version": 0}, {"hello": kind})  # the version is compared later, so that the slot is told


def check_unable(message: Mapping[str, Any]) -> None:
    """FrameError unless the message, whose op is `unable`, is valid."""
    _check(message, {"unable": messages.UnableMessage})


def _check(message: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    op = message.get("op")
    if not isinstance(op, str):
        raise FrameError("a message has no op")
    if (kind := kinds.get(op)) is not None and not _check_of(kind)(message):
        fields = get_type_hints(kind)
        wrong = [name for name, hint in fields.items() if name not in message or not _check_of(hint)(message[name])]
        raise FrameError(f"a message {op} has no valid {', '.join(wrong)}")


@cache
def _from_slot() -> dict[str, type]:
    classes = get_args(messages.FromSlot)
    return {op: kind for kind in classes for op in get_args(get_type_hints(kind)["op"])}


@cache
def _check_of(hint: Any) -> Check:
    """Whether a value of JSON has this type. Further fields of an object are accepted, since they may be added."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda _: True
    if hint is int:
        return _is_int
    if hint is float:
        return lambda value: type(value) is float or _is_int(value)
    if origin is Literal:
        return lambda value: value in parts if isinstance(value, str) else False
    if origin in (types.UnionType, Union):
        return _any_of([_check_of(part) for part in parts])
    if is_typeddict(hint):
        return _object({name: _check_of(field) for name, field in get_type_hints(hint).items()})
    if origin is tuple:
        return _row([_check_of(part) for part in parts])
    if origin in (list, Sequence):
        item = _check_of(parts[0])
        return lambda value: type(value) is list and all(map(item, value))
    if origin in (dict, Mapping):
        item = _check_of(parts[1])
        return lambda value: type(value) is dict and all(map(item, value.values()))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        values = {member.value for member in hint}
        return lambda value: isinstance(value, str) and value in values
    return lambda value: type(value) is hint


def _is_int(value: Any) -> bool:
    return type(value) is int and abs(value) < _MAX_INT


def _any_of(checks: Sequence[Check]) -> Check:
    return lambda value: any(check(value) for check in checks)


def _object(fields: Mapping[str, Check]) -> Check:
    return lambda value: type(value) is dict and all(n in value and check(value[n]) for n, check in fields.items())


def _row(checks: Sequence[Check]) -> Check:
    def is_row(value: Any) -> bool:
        return (
            type(value) is list and len(value) == len(checks) and all(c(v) for c, v in zip(checks, value, strict=True))
        )

    return is_row

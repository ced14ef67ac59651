"""The interpreter's clocks and random numbers, replaced before the program is imported, so that functions which modules
and default arguments refer to are replaced, too. Without a running simulation they are the real ones."""

from __future__ import annotations

import random
import secrets
import time
import uuid
from typing import Any, Protocol

START = 1_700_000_000.0
"""The wall clock at the start of each simulation."""


class Clocks(Protocol):
    """The clocks as the running process sees them."""

    random: random.Random

    def time(self) -> float: ...

    def wall(self) -> float: ...


class _Current:
    clocks: Clocks | None = None


_REAL = time.time, time.monotonic, time.clock_gettime, uuid.uuid4, secrets.token_bytes, secrets.token_hex


def use(clocks: Clocks | None) -> None:
    """The clocks and random numbers of a simulation; None at its end."""
    _Current.clocks = clocks


def _time() -> float:
    return _REAL[0]() if _Current.clocks is None else _Current.clocks.wall()


def _monotonic() -> float:
    return _REAL[1]() if _Current.clocks is None else _Current.clocks.time()


def _clock_gettime(clock: int) -> float:
    return _REAL[2](clock) if _Current.clocks is None else _Current.clocks.time()


def _uuid4() -> uuid.UUID:
    return _REAL[3]() if _Current.clocks is None else uuid.UUID(int=_Current.clocks.random.getrandbits(128), version=4)


def _token_bytes(size: int | None = None) -> bytes:
    return _REAL[4](size) if _Current.clocks is None else _Current.clocks.random.randbytes(size or 32)


def _token_hex(size: int | None = None) -> str:
    return _token_bytes(size).hex()


def install() -> None:
    """Call before runtime is imported."""
    time.time, time.monotonic, time.clock_gettime = _time, _monotonic, _clock_gettime
    replaced: list[tuple[Any, str, Any]] = [
        (uuid, "uuid4", _uuid4), (secrets, "token_bytes", _token_bytes), (secrets, "token_hex", _token_hex),
    ]  # fmt: skip
    for module, name, function in replaced:
        setattr(module, name, function)

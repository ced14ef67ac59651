"""Ports for the servers of tests."""

from __future__ import annotations

import os
import random
from itertools import cycle

from runtime.embedded.processes import ports

_SLICE = 4_000
_FIRST = 10_000 + _SLICE * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 5)
_START = random.randrange(_SLICE)
_candidates = cycle(_FIRST + (_START + number) % _SLICE for number in range(_SLICE))


def free_port() -> int:
    """A port that no process listens on.

    It is below the ports that the system gives to clients (from 32768 on, unless configured otherwise): between this
    call and the start of the server, or while the server is restarted, no client can take it, nor connect to itself
    on it. Each process of a test run has its own ports, and returns none twice before all others.
    """
    for _ in range(_SLICE):
        port = next(_candidates)
        if ports.choose(port) == port:
            return port
    raise AssertionError(f"no port from {_FIRST} to {_FIRST + _SLICE - 1} is free")

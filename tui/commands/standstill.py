"""Changing the offsets of a connector that may be running: stop it, change them, set it going again as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tui import model
from tui.commands.base import Context
from tui.errors import HeadraceError

Json = Any

STOPS_WITHIN = 90.0
"""Seconds."""

_LOOKS_EVERY = 0.25


async def alter(context: Context, name: str, entries: Sequence[Json], *, stop: bool) -> Json:
    """The server's answer. With `stop` the connector is stopped first if it has to be, and goes on afterwards as it
    was, whether the change was refused or not; without, the server says that it has to be stopped."""
    connect = context.connect
    state = model.connector(name, await connect.status(name), {}).state if stop else "STOPPED"
    if state == "STOPPED":
        return await connect.alter_offsets(name, entries)
    await connect.stop(name)
    try:
        await _wait_stopped(context, name)
        return await connect.alter_offsets(name, entries)
    finally:
        await (connect.pause if state == "PAUSED" else connect.resume)(name)


async def _wait_stopped(context: Context, name: str) -> None:
    deadline = context.clock() + STOPS_WITHIN
    while not model.connector(name, await context.connect.status(name), {}).is_in("STOPPED"):
        if context.clock() > deadline:
            raise HeadraceError(f"{name} was not STOPPED within {STOPS_WITHIN:g} s; its offsets were not changed")
        await context.connect.sleep(_LOOKS_EVERY)

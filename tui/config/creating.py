"""Creates connectors in a state. Workers without KIP-980 start a new connector, which is then stopped or paused; those
that cannot stop one (before KIP-875) pause it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tui.client import versions
from tui.client.client import Connect
from tui.errors import HeadraceError

Json = Any
_PAST = {"STOPPED": "stopped", "PAUSED": "paused"}


class NewState(NamedTuple):
    """The state that a new connector gets; `remark` is the reason why it starts first, or why it is another state."""

    state: str
    remark: str = ""

    @property
    def is_initial(self) -> bool:
        """Whether it is created in this state."""
        return not self.remark

    def __str__(self) -> str:
        """`STOPPED`, or `and then stopped: …` with the remark."""
        return self.state if self.is_initial else f"and then {_PAST[self.state]}: {self.remark}"


async def new_state(connect: Connect, state: str) -> NewState:
    """How the worker creates a connector in this state."""
    if state not in _PAST:
        return NewState(state)
    if state == "STOPPED" and (remark := await connect.missing(versions.STOP)):
        return NewState("PAUSED", remark)
    return NewState(state, await connect.missing(versions.INITIAL_STATE))


async def create(connect: Connect, body: Mapping[str, Json], new: NewState) -> Json:
    """Creates the connector of the body, in this state; returns the response to the creation."""
    given = {key: value for key, value in body.items() if key != "initial_state"}
    if new.is_initial:
        return await connect.create(given if new.state == "RUNNING" else {**given, "initial_state": new.state})
    response = await connect.create(given)
    try:
        await (connect.stop if new.state == "STOPPED" else connect.pause)(body["name"])
    except HeadraceError as error:
        error.message = f"created, but not {_PAST[new.state]}, so it runs: {error.message}"
        raise
    return response

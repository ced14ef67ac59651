"""Automatic restarts of a connector on the overview: the policy's state for each failed unit, and its last failures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from textual.content import Content

from tui.commands.cluster.restarts import situation
from tui.formatting import one_line, short_time
from tui.widgets.text import visible

if TYPE_CHECKING:
    from tui.client.responses import RestartsResponse

MAX_SHOWN = 5  # failures of each unit, the newest
_PACKAGE = re.compile(r"^(?:\w+\.)+(?=\w+:)")  # of the exception's class
Part = str | Content | tuple[str, str]
_INKS = {"waits": "bold $warning", "given up": "bold $error"}


def content(response: RestartsResponse | None, now: float) -> Content:
    """The response of `GET /connectors/NAME/restarts` as text; empty if nothing has failed under a policy."""
    units = response["units"] if response else []
    if response is None or not units:
        return Content("")
    parts: list[Part] = [("\nautomatic restarts\n", "bold $accent")]
    for unit in units:
        who = "connector" if unit["task"] is None else f"task {unit['task']}"
        word, text = situation(unit, response["policy"], now)
        parts += [f"{who}: ", (text, _INKS.get(word, "")), "\n"]
        newer = ""
        for past in unit["history"][:MAX_SHOWN]:
            at = short_time(past["time"] / 1000)
            attempt = f"restart {past['attempt']}" if past["attempt"] else "no restart"
            error = _PACKAGE.sub("", one_line(past["error"]))
            parts += [(f"  {at} {attempt:<11} ", "$text-muted"), visible(error) if error != newer else "same", "\n"]
            newer = error
    return Content.assemble(*parts)

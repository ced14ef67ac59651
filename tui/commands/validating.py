"""Asking the worker whether it would take a config: what a dry run does."""

from __future__ import annotations

from collections.abc import Mapping

from tui.commands.base import Context, refuse
from tui.errors import BadRequest


async def validate(context: Context, config: Mapping[str, str], where: str) -> None:
    """An invalid config fails as it would for real."""
    plugin = str(config.get("connector.class") or "")
    refuse(not plugin, f"{where}: no connector.class")
    answer = await context.connect.validate(plugin.rpartition(".")[2], config)
    errors = [error for entry in answer.get("configs", ()) for error in entry["value"].get("errors", ())]
    if errors:
        raise BadRequest("; ".join(errors), 400)

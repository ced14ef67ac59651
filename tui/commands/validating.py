"""Asking the worker whether it would take a config: what a dry run does."""

from __future__ import annotations

from collections.abc import Mapping

from tui.commands.base import CommandContext, refuse
from tui.config.definitions import of_validation
from tui.errors import BadRequest


async def validate(context: CommandContext, config: Mapping[str, str], where: str) -> None:
    """An invalid config fails as it would for real."""
    plugin = str(config.get("connector.class") or "")
    refuse(not plugin, f"{where}: no connector.class")
    answer = await context.connect.validate(plugin.rpartition(".")[2], config)
    errors = [text for found in of_validation(answer).errors.values() for text in found]
    if errors:
        raise BadRequest("; ".join(errors), 400)

"""Validation of a config by the worker, for dry runs."""

from __future__ import annotations

from collections.abc import Mapping

from tui.commands.base import CommandContext, refuse
from tui.config.definitions import of_validation
from tui.errors import BadRequest


async def validate(context: CommandContext, config: Mapping[str, str], where: str) -> None:
    """Raises BadRequest for an invalid config, as the real change would."""
    plugin = str(config.get("connector.class") or "")
    refuse(not plugin, f"{where}: no connector.class")
    answer = await context.connect.validate(plugin.rpartition(".")[2], config)
    errors = [text for found in of_validation(answer).errors.values() for text in found]
    if errors:
        raise BadRequest("; ".join(errors), 400)

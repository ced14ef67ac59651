"""Validation of a config by the worker, for dry runs."""

from __future__ import annotations

from collections.abc import Mapping

from tui.client.client import Connect
from tui.commands.base import refuse
from tui.commands.context import CommandCluster
from tui.config.definitions import of_validation
from tui.errors import BadRequest


async def validate(cluster: CommandCluster, config: Mapping[str, str], where: str) -> None:
    """Raises BadRequest for an invalid config, as the real change would."""
    if errors := await validation_errors(cluster.connect, config, where):
        raise BadRequest("; ".join(errors), 400)


async def validation_errors(connect: Connect, config: Mapping[str, str], where: str) -> list[str]:
    """The errors that a cluster finds in a config."""
    plugin = str(config.get("connector.class") or "")
    refuse(not plugin, f"{where}: no connector.class")
    response = await connect.validate(plugin.rpartition(".")[2], config)
    return [text for errors in of_validation(response).errors.values() for text in errors]

"""Masks passwords in answers: only administrators see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from starlette.types import Scope

from runtime.herder.responses import EntryResponse, ExpandedResponse, InfoResponse, TaskResponse
from runtime.rest.security.access import Role, role_of


class PasswordMasker(Protocol):
    """Knows which keys of a configuration are passwords."""

    async def masked(self, config: Mapping[str, str], connector: Mapping[str, str] | None = None) -> dict[str, str]: ...


class Masks:
    """Masks passwords in answers to users without the role ADMIN. Each method takes the scope of the request."""

    def __init__(self, keys: PasswordMasker) -> None:
        self._keys = keys

    async def config(self, scope: Scope, config: Mapping[str, str]) -> Mapping[str, str]:
        return config if _sees_passwords(scope) else await self._keys.masked(config)

    async def info(self, scope: Scope, info: InfoResponse) -> InfoResponse:
        """A connector's info."""
        if _sees_passwords(scope):
            return info
        return {**info, "config": await self._keys.masked(info["config"])}

    async def entry(self, scope: Scope, entry: EntryResponse) -> EntryResponse:
        """A connector in an event."""
        return {**entry, "info": await self.info(scope, entry["info"])}

    async def expanded(self, scope: Scope, entries: dict[str, ExpandedResponse]) -> dict[str, ExpandedResponse]:
        """The connectors of GET /connectors?expand=…."""
        if _sees_passwords(scope):
            return entries
        return {name: await self._expanded(scope, entry) for name, entry in entries.items()}

    async def _expanded(self, scope: Scope, entry: ExpandedResponse) -> ExpandedResponse:
        return {**entry, "info": await self.info(scope, entry["info"])} if "info" in entry else entry

    async def tasks(self, scope: Scope, connector: Mapping[str, str], tasks: list[TaskResponse]) -> list[TaskResponse]:
        """Task configs. The connector's config determines which keys are passwords."""
        if _sees_passwords(scope):
            return tasks
        return [{**task, "config": await self._keys.masked(task["config"], connector)} for task in tasks]


def _sees_passwords(scope: Scope) -> bool:
    return role_of(scope) >= Role.ADMIN

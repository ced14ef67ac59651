"""Passwords in answers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from runtime.herder.responses import EntryResponse, InfoResponse, StatusResponse, TaskResponse
from runtime.rest.security.access import ROLE, Role
from runtime.rest.security.masking import Masks

ORIGINAL, HIDDEN = {"a.password": "secret"}, {"a.password": "[hidden]"}
STATUS: StatusResponse = {
    "name": "c",
    "connector": {"state": "RUNNING", "worker_id": "w:1", "version": None},
    "tasks": [],
    "type": "sink",
}


def info(config: dict[str, str]) -> InfoResponse:
    return {"name": "c", "config": config, "tasks": [], "type": "sink"}


def task(config: dict[str, str]) -> TaskResponse:
    return {"id": {"connector": "c", "task": 0}, "config": config}


@pytest.mark.parametrize("role", [Role.READ, Role.OPERATE, Role.ADMIN, None])
async def test_passwords_are_shown_to_administrators_only(role: Role | None) -> None:
    class Keys:
        async def masked(self, config: Mapping[str, str], connector: Mapping[str, str] | None = None) -> dict[str, str]:
            return dict(HIDDEN)

    masks, scope = Masks(Keys()), {} if role is None else {ROLE: role}
    shown = ORIGINAL if role in (Role.ADMIN, None) else HIDDEN
    assert await masks.config(scope, ORIGINAL) == shown
    assert await masks.info(scope, info(ORIGINAL)) == info(shown)
    assert await masks.expanded(scope, {"c": {"info": info(ORIGINAL)}}) == {"c": {"info": info(shown)}}
    assert await masks.expanded(scope, {"c": {"status": STATUS}}) == {"c": {"status": STATUS}}
    entry: EntryResponse = {"name": "c", "status": STATUS, "info": info(ORIGINAL)}
    assert await masks.entry(scope, entry) == {**entry, "info": info(shown)}
    assert await masks.tasks(scope, {}, [task(ORIGINAL)]) == [task(shown)]

"""Passwords in answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from runtime.rest.security.access import ROLE, Role
from runtime.rest.security.masking import Masks


@pytest.mark.parametrize("role", [Role.READ, Role.OPERATE, Role.ADMIN, None])
async def test_passwords_are_shown_to_administrators_only(role: Role | None) -> None:
    config, hidden = {"a.password": "secret"}, {"a.password": "[hidden]"}

    class Keys:
        async def masked(self, config: Mapping[str, str], beside: Any = None) -> dict[str, str]:
            return dict(hidden)

    masks, scope = Masks(Keys()), {} if role is None else {ROLE: role}
    shown = config if role in (Role.ADMIN, None) else hidden
    assert await masks.config(scope, config) == shown
    assert await masks.info(scope, {"name": "c", "config": config}) == {"name": "c", "config": shown}
    assert await masks.entries(scope, {"c": {"info": {"config": config}}}) == {"c": {"info": {"config": shown}}}
    assert await masks.entries(scope, {"c": {"status": {}}}) == {"c": {"status": {}}}
    assert await masks.tasks(scope, {}, [{"id": 0, "config": config}]) == [{"id": 0, "config": shown}]

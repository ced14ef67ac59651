"""The steps of a promotion: what it would change in the other cluster for each connector, and doing it."""

from __future__ import annotations

from collections.abc import Mapping

from tui.client.client import Connect
from tui.client.password_keys import PasswordKeys
from tui.commands.connectors.documents import ConnectorDocument
from tui.commands.connectors.plan import CREATE, KEEP, PlanStep, step
from tui.commands.connectors.validating import validation_errors
from tui.commands.result import TargetOutcome
from tui.config import applying, promotion
from tui.config.applying import ConfigEdit
from tui.errors import BadRequest, HeadraceError, NotFound

STATES = ("STOPPED", "PAUSED", "RUNNING")
"""Initial states of new connectors, the default first."""


async def planned_step(
    other: Connect, to: str, name: str, config: Mapping[str, str], password_keys: PasswordKeys
) -> PlanStep:
    """The step for a connector called `name` here, with its config for the cluster `to`, which validates it;
    `password_keys` are those of `to`.

    Raises HeadraceError if it cannot be promoted.
    """
    if hidden := promotion.masks(config):
        keys = " ".join(f"-s {key}=…" for key in hidden)
        raise HeadraceError(f"this cluster masks the value of {', '.join(hidden)}", f"set it with {keys}")
    found = step(ConnectorDocument(name, config["name"], dict(config)), await _current(other, config["name"]))
    if found.pending and (errors := await validation_errors(other, config, name)):
        raise BadRequest(f"{to} refuses the config: {'; '.join(errors)}", 400)
    return found._replace(passwords=await password_keys.of(found.before, config))


async def _current(other: Connect, name: str) -> dict[str, str] | None:
    try:
        return await other.config(name)
    except NotFound:
        return None


def would(one: PlanStep, state: str) -> str:
    """The step in words; `state` is that of a new connector."""
    if one.action == CREATE:
        return f"would be created {state}"
    return "unchanged" if one.action == KEEP else f"would be updated: {', '.join(change.key for change in one.changes)}"


async def take_step(other: Connect, to: str, one: PlanStep, state: str) -> TargetOutcome:
    """Creates or updates the connector in the cluster `to`. Raises HeadraceError."""
    assert one.document is not None
    if one.action == KEEP:
        return TargetOutcome(one.name, "unchanged")
    if one.action == CREATE:
        await other.create({"name": one.name, "config": one.document.config, "initial_state": state})
        return TargetOutcome(one.name, f"created {state} in {to}")
    await applying.apply(ConfigEdit(one.name, one.before or {}, one.changes), other)
    return TargetOutcome(one.name, f"updated in {to}: {', '.join(change.key for change in one.changes)}")

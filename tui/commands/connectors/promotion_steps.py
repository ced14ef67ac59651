"""The steps of a promotion: what it would change in the other cluster for each connector, and doing it."""

from __future__ import annotations

from collections.abc import Mapping

from tui.client.client import Connect
from tui.client.password_keys import PasswordKeys
from tui.commands.connectors.documents import ConnectorDocument
from tui.commands.connectors.plan import CREATE, KEEP, PlanStep, step
from tui.commands.connectors.validating import validation_errors
from tui.commands.result import TargetOutcome
from tui.config import applying, creating, promotion
from tui.config.applying import ConfigEdit
from tui.config.creating import NewState
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
    planned = step(ConnectorDocument(name, config["name"], dict(config)), await _current(other, config["name"]))
    if planned.pending and (errors := await validation_errors(other, config, name)):
        raise BadRequest(f"{to} refuses the config: {'; '.join(errors)}", 400)
    return planned._replace(passwords=await password_keys.of(planned.before, config))


async def _current(other: Connect, name: str) -> dict[str, str] | None:
    try:
        return await other.config(name)
    except NotFound:
        return None


def would(step: PlanStep, state: NewState) -> str:
    """The step in words; `state` is that of a new connector."""
    if step.action == CREATE:
        return f"would be created {state}"
    return (
        "unchanged" if step.action == KEEP else f"would be updated: {', '.join(change.key for change in step.changes)}"
    )


async def take_step(other: Connect, to: str, step: PlanStep, state: NewState) -> TargetOutcome:
    """Creates or updates the connector in the cluster `to`. Raises HeadraceError."""
    assert step.document is not None
    if step.action == KEEP:
        return TargetOutcome(step.name, "unchanged")
    if step.action == CREATE:
        await creating.create(other, {"name": step.name, "config": step.document.config}, state)
        return TargetOutcome(step.name, f"created {state} in {to}" if state.is_initial else f"created in {to}, {state}")
    await applying.apply(ConfigEdit(step.name, step.before or {}, step.changes), other)
    return TargetOutcome(step.name, f"updated in {to}: {', '.join(change.key for change in step.changes)}")

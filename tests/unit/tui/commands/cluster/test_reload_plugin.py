"""`reload plugin` with the answers of Headrace workers and of Apache's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.tui.commands.cluster.test_workers import Run
from tui.errors import NotFound, ReadOnly

PATH = "/connector-plugins/reload"


def _answer(*restarted: str, missing: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"plugins": [], "restarted": list(restarted), "missing": list(missing)}


def test_each_worker_reports_what_restarts() -> None:
    workers = {"a:8083": _answer("orders", "bills"), "b:8083": _answer(missing=("gone",)), "c:8083": None}
    run = Run("reload plugin", {PATH: {"workers": workers}})
    assert run.sent == [f"POST {PATH}"]
    assert [(outcome.name, outcome.message, outcome.failed) for outcome in run.result.outcomes] == [
        ("a:8083", "restarting orders, bills", False),
        ("b:8083", "reloaded, nothing restarts; the plugins of gone are missing", False),
        ("c:8083", "did not respond: reload again", True),
    ]


def test_one_plugin_is_reloaded() -> None:
    path = f"{PATH}?plugin=pkg.Orders%20A"
    assert Run("reload 'pkg.Orders A'", {path: {"workers": {}}}).sent == [f"POST {path}"]


def test_a_dry_run_and_a_read_only_context_send_nothing() -> None:
    run = Run("reload plugin Orders --dry-run", {})
    assert run.sent == [] and run.result.outcomes[0].message == "would be reloaded on all workers"
    with pytest.raises(ReadOnly):
        Run("reload plugin", {}, read_only=True)


def test_other_workers_cannot_reload() -> None:
    with pytest.raises(NotFound, match="this cluster cannot reload plugins"):
        Run("reload plugin", {})

"""The audit log of this machine: restarts, and a full disk."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest

from tui.wire import audit


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def logged(what: str, connector: str = "a b", context: str = "prod", **more: Any) -> None:
    audit.append(
        {
            "time": "2026-11-27T08:00:00.500Z",
            "who": "ann@bastion",
            "context": context,
            "from": "script",
            "what": what,
            "connector": connector,
            **more,
        }
    )


def test_restarts_of_a_connector_newest_first() -> None:
    logged("POST /connectors/a%20b/tasks/2/restart", answer=None)
    logged("POST /connectors/a%20b/restart?includeTasks=true&onlyFailed=true", error="409: rebalance")
    logged("PUT /connectors/a%20b/pause")
    logged("POST /connectors/restart", connector="restart")
    logged("POST /connectors/other/restart", connector="other")
    logged("POST /connectors/a%20b/restart", context="test")
    with audit.audit_file().open("a", encoding="utf-8") as log:
        log.write('{"what": "POST /connectors/a%20b/restart", "time": 7\n[]/restart\n')
    assert audit.restarts("prod", "a b") == [
        {"at": 1795766400.5, "task": None, "who": "ann@bastion", "from": "script", "error": "409: rebalance"},
        {"at": 1795766400.5, "task": 2, "who": "ann@bastion", "from": "script"},
    ]


def test_without_a_log_there_are_none() -> None:
    assert audit.restarts("prod", "a") == []


def test_a_part_of_a_line_that_a_full_disk_takes_is_removed() -> None:
    """Otherwise the next line would follow it, and neither could be read."""
    audit.append({"n": 1})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # a write up to it is as short as on a full disk
    try:
        with pytest.raises(OSError, match="No space left"):
            audit.append({"n": 2, "body": "x" * 2000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    audit.append({"n": 3})
    assert [json.loads(line)["n"] for line in audit.audit_file().read_text().splitlines()] == [1, 3]

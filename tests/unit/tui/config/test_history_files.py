"""The history of configs on this machine: secrets are hidden as a whole, so that no half of a value is restored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.config import history
from tui.config.history_files import ConfigHistoryFiles

CONFIG = {
    "connector.class": "a.b.C",
    "registry.url": "http://ops:pass-1@registry:8081",
    "connection.url": "jdbc:mysql://db/x?user=ops&password=pass-2",
    "db.password": "pass-3",
    "pin": "pass-4",
    "other.url": "jdbc:mysql://db/x?password=${file:/run/secrets:key}",
    "topics": "orders",
}


@pytest.fixture
def kept(tmp_path: Path) -> ConfigHistoryFiles:
    return ConfigHistoryFiles(tmp_path, "http://connect:8083")


def test_values_with_a_secret_are_hidden_and_keep_their_current_value(kept: ConfigHistoryFiles) -> None:
    kept.add("a", CONFIG, {**CONFIG, "topics": "payments"}, "RUNNING", "ops", "", passwords={"pin"})
    (raw,) = kept.read("a")
    assert "pass-" not in str(raw) and raw["before"]["other.url"] == CONFIG["other.url"]
    found = history.as_before(history._entry(raw), {**CONFIG, "topics": "payments"})
    assert found.config == CONFIG
    assert found.kept == ("registry.url", "connection.url", "db.password", "pin") and not found.missing
    assert history.as_before(history._entry(raw), {}).missing == found.kept


def test_a_damaged_file_does_not_hide_other_deletions(kept: ConfigHistoryFiles) -> None:
    kept.add("a", CONFIG, None, "RUNNING", "ops", "")
    for name, text in (("empty", ""), ("cut", '{"action": "del')):
        (kept.folder / f"{name}.jsonl").write_text(text)
    assert [one["name"] for one in kept.deleted()] == ["a"]

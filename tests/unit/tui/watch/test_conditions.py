"""Conditions of rules, and rules in config.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.appearance import settings
from tui.errors import HeadraceError, UsageError
from tui.model import Connector, Task
from tui.watch.conditions import Observation, condition
from tui.watch.rules import load_rules, rules_of

NOW = 1_000_000.0
RUNNING = Connector("orders", "sink", "RUNNING", (Task(0, "RUNNING"), Task(1, "RUNNING")))
FAILED = RUNNING._replace(tasks=(Task(0, "FAILED"), Task(1, "RUNNING")))
STOPPED = Connector("orders", "sink", "STOPPED")
EXPIRING = Observation(STOPPED, expires_at=NOW + 3600, knows_expiry=True)


@pytest.mark.parametrize(("text", "one", "expected"), [
    ("failed", Observation(FAILED), (True, "1 of 2 tasks FAILED")),
    ("state:failed", Observation(FAILED._replace(state="FAILED")), (True, "is FAILED")),
    ("failed", Observation(RUNNING), (False, "")),
    ("PAUSED", Observation(RUNNING._replace(state="PAUSED", tasks=())), (True, "is PAUSED")),
    ("lag > 10k", Observation(RUNNING, lag=10_001), (True, "lag 10,001 > 10,000")),
    ("lag > 10k", Observation(RUNNING, lag=10_000), (False, "lag 10,000 > 10,000")),
    ("lag>10k", Observation(RUNNING), (None, "")),
    ("lag > 1", Observation(STOPPED), (False, "")),
    ("lag > 1", Observation(RUNNING._replace(type="source")), (False, "")),
    ("failures > 0.5/s", Observation(RUNNING, failures=2.0), (True, "2.0 failed records/s > 0.5")),
    ("failures > 0", Observation(RUNNING), (None, "")),
    ("stalled", Observation(RUNNING, stalled=(0, 1)), (True, "tasks 0, 1 are STALLED")),
    ("stalled", Observation(RUNNING), (None, "")),
    ("stalled", Observation(STOPPED), (False, "")),
    ("expires < 24h", EXPIRING, (True, "offsets expire in 1 h")),
    ("expires < 30min", EXPIRING, (False, "offsets expire in 1 h")),
    ("expires < 1d", Observation(STOPPED, knows_expiry=True), (False, "")),
    ("expires < 1d", Observation(STOPPED), (None, "")),
    ("expires < 1d", Observation(RUNNING), (False, "")),
])  # fmt: skip
def test_conditions(text: str, one: Observation, expected: tuple[bool | None, str]) -> None:
    assert condition(text).verify(one, NOW) == expected


@pytest.mark.parametrize(("text", "advice"), [
    ("faild", "did you mean failed?"),
    ("lag < 5", "expected lag > …"),
    ("lag > 5x", "expected one of: k, K, M, G"),
    ("expires < 5", "expected one of: s, m, min, h, d"),
    ("nonsense", "expected one of: failed, unassigned"),
])  # fmt: skip
def test_other_texts_are_no_conditions(text: str, advice: str) -> None:
    with pytest.raises(UsageError) as raised:
        condition(text)
    assert raised.value.advice.startswith(advice)


def test_rules_are_read_from_config_toml(tmp_path: Path) -> None:
    (tmp_path / settings.FILE).write_text(
        'theme = "x"\n[[rules]]\nwhen = "lag > 5"\nname = "slow"\nseverity = "warning"\nconnectors = ["a*", "b"]\n'
        'for = "2m"\nbell = false\nwebhook = "env:HOOK"\n[[rules]]\nwhen = "failed"\ncontexts = "prod*"\n'
    )
    (slow,) = load_rules(tmp_path, "test")
    assert (slow.title, slow.severity, slow.lasting, slow.bell, slow.desktop) == ("slow", "warning", 120.0, False, True)
    assert [slow.covers(name) for name in ("abc", "b", "c")] == [True, True, False]
    assert [rule.title for rule in load_rules(tmp_path, "prod-eu")] == ["slow", "failed"]
    assert "HOOK" not in repr(slow)


@pytest.mark.parametrize(("table", "problem"), [
    ({"when": "failed", "webook": "x"}, "unknown key 'webook' (did you mean webhook?)"),
    ({}, "when is missing"),
    ({"when": "failed", "severity": "bad"}, "severity must be warning or critical"),
    ({"when": "failed", "for": "soon"}, "not a duration"),
    ({"when": "failed", "connectors": [1]}, "connectors must be a string or a list of strings"),
    ("failed", "expected a table"),
])  # fmt: skip
def test_invalid_rules_are_reported(table: object, problem: str) -> None:
    rules, problems = rules_of([table, {"when": "failed"}], "")
    assert len(rules) == 1
    assert problems[0].startswith("rule 1: ") and problem in problems[0]


def test_an_invalid_file_is_an_error_for_scripts(tmp_path: Path) -> None:
    (tmp_path / settings.FILE).write_text('[[rules]]\nwhen = "faild"\n')
    with pytest.raises(HeadraceError, match="rule 1: 'faild' is not a condition"):
        load_rules(tmp_path, "")


@pytest.mark.parametrize(("content", "problem"), [("rules = [", "is not TOML"), ("rules = 4", "rules must be tables")])
def test_rules_that_cannot_be_read_are_an_error(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / settings.FILE).write_text(content)
    with pytest.raises(HeadraceError, match=problem):
        load_rules(tmp_path, "")

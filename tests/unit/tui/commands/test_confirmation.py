"""Changes of offsets show the difference and ask for confirmation; dry runs report what would happen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.console.command_context import command_context
from tests.support.console.console_transports import InMemory
from tests.unit.tui.scripted import status
from tui.client.calls import ApiCall, drive
from tui.client.client import Connect
from tui.commands.base import execute
from tui.commands.result import Result
from tui.contexts.profiles import Profile
from tui.errors import BadRequest, HeadraceError, NotFound
from tui.offsets.pending_changes import ChangeStep, PendingChange
from tui.offsets.plan import OffsetPlan
from tui.script.grammar import parse

pytestmark = pytest.mark.usefixtures("own_folders")

SOURCE = {"partition": {"f": "x"}, "offset": {"p": 5}}
SINK = {"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 5}}
CONFIG = {"name": "a", "connector.class": "x.Y", "tasks.max": "1"}


def past(entry: Any) -> Any:
    before = [{**entry, "offset": dict.fromkeys(entry["offset"], 3)}]
    return {"number": 1, "time": 0, "action": "alter", "who": "", "why": "", "before": before, "after": [entry]}


class Cluster(InMemory):
    """The STOPPED connector `a`, and `x/y`, whose requests it refuses."""

    url = "http://cluster:8083"

    def __init__(self, entry: Any = SOURCE) -> None:
        self.entry = entry
        self.changed: list[str] = []
        self.reported: list[str] = []
        self.asked: list[str] = []
        self.answer = False

    async def send(self, call: ApiCall) -> Any:
        path = call.path.partition("?")[0]
        if "x%2Fy" in path:
            raise BadRequest("HTTP 400: Ambiguous URI path separator", 400)
        if call.changes:
            self.changed.append(f"{call.method} {path}")
            return {"message": "done"}
        known = {
            "/connectors": ["a", "x/y"],
            "/connectors/a/status": status("a", "STOPPED", ()),
            "/connectors/a/config": CONFIG,
            "/connectors/a/offsets": {"offsets": [self.entry]},
            "/connectors/a/offsets/history": {"history": [past(self.entry)]},
            "/connectors/a/offsets/resolve": {"changes": [{**SINK, "from": 5, "to": 4, "reread": 1, "skipped": 0}]},
            "/connector-plugins/Y/config/validate": {"configs": [{"value": {"errors": _errors(call.body)}}]},
        }  # fmt: skip
        if path not in known:
            raise NotFound("HTTP 404", 404)
        return known[path]

    def run(self, line: str) -> Result:
        def confirm(question: str) -> bool:
            assert self.reported, "the difference must be shown first"
            self.asked.append(question)
            return self.answer

        command = parse(line)
        assert command is not None
        context = command_context(
            Connect(self),
            Profile(self.url),
            read=lambda path: Path(path).read_text(),
            report=self.reported.append,
            confirm=confirm,
        )
        self.change_store = context.cluster.change_store
        return drive(execute(command, context))


def _errors(config: Any) -> list[str]:
    return [] if (config or {}).get("tasks.max", "1").isdecimal() else ["Invalid value for tasks.max"]


def wanted(entry: Any) -> Any:
    return {**entry, "offset": dict.fromkeys(entry["offset"], 4)}


LINES = [
    (SOURCE, f"patch offsets a '{json.dumps(wanted(SOURCE))}'", "f x: p 5 → p 4"),
    (SOURCE, """patch offsets a --source-partition '{"f": "x"}' --source-offset '{"p": 4}'""", "f x: p 5 → p 4"),
    (SINK, "patch offsets a --kafka-topic t --kafka-partition 0 --kafka-offset 4", "t-0: offset 5 → offset 4"),
    (SINK, "patch offsets a --to -1", "t-0: offset 5 → offset 4"),
    (SOURCE, "undo a", "f x: p 5 → p 3"),
    (SINK, "rollback a --to 1", "t-0: offset 5 → offset 3"),
    (SOURCE, "import offsets -f FILE", "f x: p 5 → p 4"),
]


@pytest.mark.parametrize(("entry", "line", "difference"), LINES)
def test_the_difference_is_shown_before_confirmation(entry: Any, line: str, difference: str, tmp_path: Path) -> None:
    (tmp_path / "o.json").write_text(json.dumps({"a": [wanted(SOURCE)]}))
    line = line.replace("FILE", str(tmp_path / "o.json"))
    cluster = Cluster(entry)
    try:
        message = cluster.run(line).outcomes[0].message
    except HeadraceError as error:
        message = error.message
    assert "not confirmed; nothing was changed" in message
    assert (cluster.asked, cluster.changed) == (["set the offsets of a?"], [])
    assert any(difference in text for text in cluster.reported), cluster.reported
    cluster.answer = True
    cluster.run(line)
    assert cluster.changed == ["PATCH /connectors/a/offsets"]
    cluster.run(f"{line} -y")
    cluster.run(f"{line} --dry-run")
    assert len(cluster.asked) == 2 and len(cluster.changed) == 2


@pytest.mark.parametrize("way", ["", "--back", "--forget"])
def test_an_interrupted_change_is_shown_before_the_confirmation(way: str) -> None:
    cluster = Cluster()
    with pytest.raises(NotFound):
        cluster.run("finish a --dry-run")
    plan = OffsetPlan("a", None, (), "RUNNING")
    held = cluster.change_store.pending.lock("a")
    held.write(PendingChange(plan, ChangeStep.STOPPING, None, "user"))
    held.release()
    with pytest.raises(HeadraceError, match="not confirmed"):
        cluster.run(f"finish a {way}")
    assert (len(cluster.asked), cluster.changed) == (1, [])
    assert cluster.change_store.pending.of("a") is not None
    cluster.run("finish a --forget -y")
    assert len(cluster.asked) == 1 and cluster.change_store.pending.of("a") is None


def test_apply_continues_after_an_unreadable_connector(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(json.dumps({"name": "b", "config": {**CONFIG, "name": "b"}}))
    cluster = Cluster()
    found = cluster.run(f"apply -f {tmp_path} --prune --dry-run")
    assert "1 to delete" in found.text and found.text.endswith("1 unreadable")
    (bad,) = [outcome for outcome in found.outcomes if outcome.failed]
    assert bad.name == "x/y" and "Ambiguous URI path separator" in bad.message
    assert found.exit_code == 1
    done = cluster.run(f"apply -f {tmp_path} --prune -y")
    assert [(one.name, one.failed) for one in done.outcomes] == [("b", False), ("a", False), ("x/y", True)]
    assert cluster.changed == ["PUT /connectors/b/config", "DELETE /connectors/a"]


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("tasks.max=abc", "Invalid value for tasks.max"),
        ("name=other", "the name of a connector cannot be changed"),
        ("tasks.max=2", "would be changed: - tasks.max=1; + tasks.max=2"),
    ],
)
def test_a_dry_run_of_patch_validates_the_config(pair: str, message: str) -> None:
    cluster = Cluster()
    (one,) = cluster.run(f"patch connector a -s {pair} --dry-run").outcomes
    assert message in one.message and one.failed == (not message.startswith("would"))
    assert cluster.changed == []


def test_rollback_to_an_unknown_change_is_not_found() -> None:
    with pytest.raises(NotFound, match="a has no change 17"):
        Cluster().run("rollback a --to 17")


def test_a_worker_without_orphans_is_reported() -> None:
    with pytest.raises(NotFound, match="this worker cannot list orphaned offsets"):
        Cluster().run("get orphans")


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        (Profile("http://h", "j", read_only=True), "the context j is read-only"),
        (Profile("http://h", "j").as_read_only(), "--read-only was given"),
        (Profile("http://h", "j", read_only=True).as_read_only(), "the context j is read-only"),
        (Profile("http://h", "j", read_only=True, replay="x"), "a recording is read-only"),
    ],
)
def test_a_refusal_names_the_source_of_read_only(profile: Profile, words: str) -> None:
    from tui.contexts import policy

    assert policy.refusal(profile, "stop") == f"stop refused: {words}"
    assert policy.refusal(Profile("http://h"), "stop") == ""

"""`backup` and `restore` on a cluster in memory: the document, plans, mappings, and interruptions at every request."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.console.command_context import run_command
from tests.support.console.console_transports import InMemory
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.commands.result import Result
from tui.contexts.profiles import Profile
from tui.errors import (
    CONFLICT,
    BadRequest,
    Conflict,
    HeadraceError,
    NotFound,
    ServerError,
    TimedOut,
    Unreachable,
    UsageError,
)

Json = Any
SOURCE = {"partition": {"filename": "/in"}, "offset": {"position": 14}}


def sink(offset: int | None, topic: str = "orders", partition: int = 0) -> Json:
    where = {"kafka_topic": topic, "kafka_partition": partition}
    return {"partition": where, "offset": None if offset is None else {"kafka_offset": offset}}


class Killed(BaseException):
    """The process dies."""


class MemoryCluster(InMemory):
    """A cluster as its REST API shows it. `fails` is called before each change; `left`: offsets that a deleted
    connector has left for a new one of its name."""

    url = "http://memory:8083"

    def __init__(self, **connectors: Json) -> None:
        self.connectors: dict[str, Json] = connectors
        self.changes: list[str] = []
        self.fails: Callable[[int, ApiCall], None] = lambda number, call: None
        self.unreadable: tuple[str, ...] = ()
        self.left: list[Json] = []

    async def send(self, call: ApiCall) -> Json:
        if call.method != "GET" and "/validate" not in call.path:
            self.changes.append(f"{call.method} {call.path}")
            self.fails(len(self.changes), call)
        return copy.deepcopy(self._answer(call))

    def _answer(self, call: ApiCall) -> Json:
        path, body = call.path, call.body
        if path == "/":
            return {"version": "4.3.0", "commit": "c", "kafka_cluster_id": "k"}
        if path.startswith("/connectors?expand"):
            return {name: {"status": self._status(name), "info": self._info(name)} for name in self.connectors}
        if path == "/connectors" and call.method == "GET":
            return list(self.connectors)
        if path == "/connectors":
            if body["name"] in self.connectors:
                raise Conflict(f"Connector {body['name']} already exists", 409)
            self.connectors[body["name"]] = {
                "config": body["config"], "state": body["initial_state"], "offsets": list(self.left),
            }  # fmt: skip
            return {}
        if "/validate" in path:
            wrong = ["must be set"] if body.get("file") == "" else []
            return {"name": "x", "error_count": len(wrong), "configs": [{"value": {"name": "file", "errors": wrong}}]}
        name, _, part = path.removeprefix("/connectors/").partition("/")
        if name not in self.connectors:
            raise NotFound(f"Connector {name} not found", 404)
        one = self.connectors[name]
        if part == "status":
            return self._status(name)
        if part == "offsets":
            if name in self.unreadable:
                raise ServerError("the broker is unavailable", 500)
            return {"offsets": one["offsets"]} if call.method == "GET" else self._alter(one, body["offsets"])
        if part == "config" and call.method == "GET":
            return one["config"]
        if part == "config":
            one["config"] = body
        else:
            one["state"] = {"stop": "STOPPED", "pause": "PAUSED", "resume": "RUNNING"}[part]
        return {}

    def _alter(self, one: Json, entries: Json) -> Json:
        assert one["state"] == "STOPPED"
        known = {json.dumps(entry["partition"]): entry for entry in [*one["offsets"], *entries]}
        one["offsets"] = [entry for entry in known.values() if entry["offset"] is not None]
        return {"message": "The offsets for this connector have been altered successfully"}

    def _status(self, name: str) -> Json:
        state = self.connectors[name]["state"]
        tasks = [] if state == "STOPPED" else [{"id": 0, "state": state, "worker_id": "w:1"}]
        return {"name": name, "connector": {"state": state, "worker_id": "w:1"}, "tasks": tasks, "type": "source"}

    def _info(self, name: str) -> Json:
        return {"name": name, "config": self.connectors[name]["config"], "tasks": [], "type": "source"}


def connector(name: str, state: str = "RUNNING", *offsets: Json, **config: str) -> Json:
    given = {key.replace("_", "."): value for key, value in config.items()}
    return {"config": {"name": name, "connector.class": "a.B", **given}, "state": state, "offsets": list(offsets)}


def filled() -> MemoryCluster:
    return MemoryCluster(
        files=connector("files", "RUNNING", SOURCE, file="/in", topic="orders"),
        orders=connector("orders", "PAUSED", sink(5), sink(7, partition=1), topics="orders"),
        idle=connector("idle", "STOPPED", password="${file:/s:key}"),
    )


@pytest.fixture
def run(own_folders: Path) -> Any:
    def run(
        line: str, cluster: MemoryCluster, said: list[str] | None = None, answer: Any = True, plan: Any = None
    ) -> Result:
        return run_command(
            line,
            Connect(cluster),
            Profile(cluster.url, "memory"),
            read=lambda path: Path(path).read_text(),
            plan=plan,
            report=(said if said is not None else []).append,
            confirm=answer if callable(answer) else lambda question: answer,
        )

    return run


@pytest.fixture
def backup(tmp_path: Path, run: Any) -> Path:
    path = tmp_path / "backup.json"
    run(f"backup {path}", filled())
    return path


def test_a_backup_is_private_and_has_a_line_for_each_key_and_offset(backup: Path) -> None:
    assert backup.stat().st_mode & 0o777 == 0o600
    lines = [line.strip() for line in backup.read_text().splitlines()]
    assert '"headrace_backup": 1,' in lines
    assert '"password": "${file:/s:key}"' in lines
    assert lines[lines.index('"orders": {') + 2] == '"state": "PAUSED",'
    assert f"{json.dumps(sink(5))}," in lines


def test_a_backup_of_an_unchanged_cluster_differs_only_in_its_time(backup: Path, run: Any) -> None:
    first = backup.read_text()
    run(f"backup {backup}", filled())
    without_time = [re.sub(r'"taken": "[^"]*"', "", text) for text in (first, backup.read_text())]
    assert without_time[0] == without_time[1]


def test_a_backup_is_complete_or_says_so(tmp_path: Path, run: Any) -> None:
    cluster, path = filled(), tmp_path / "b"
    cluster.unreadable = ("orders",)
    with pytest.raises(HeadraceError, match=r"nothing was written.*orders: the broker is unavailable"):
        run(f"backup {path}", cluster)
    assert not path.exists()
    result = run(f"backup {path} --partial", cluster)
    assert result.exit_code == 1
    assert set(json.loads(path.read_text())["connectors"]) == {"files", "idle"}


def test_a_backup_that_cannot_be_written_leaves_no_file(tmp_path: Path, run: Any) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(HeadraceError, match="cannot write"):
        run(f"backup {tmp_path}/folder", filled())
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_a_failed_connector_is_to_run(tmp_path: Path, run: Any) -> None:
    run(f"backup {tmp_path / 'b'}", MemoryCluster(a=connector("a", "FAILED")))
    assert json.loads((tmp_path / "b").read_text())["connectors"]["a"]["state"] == "RUNNING"


def test_a_backup_is_restored_to_an_empty_cluster(backup: Path, run: Any) -> None:
    empty, said = MemoryCluster(), list[str]()
    assert run(f"restore {backup} --dry-run", empty).exit_code == 8
    assert empty.changes == []
    assert run(f"restore {backup}", empty, said).exit_code == 0
    assert empty.connectors == filled().connectors
    assert "+ orders: create: source, 2 offsets, PAUSED" in said
    assert "plan: 3 to create, 0 to overwrite, 0 skipped, 0 unchanged" in said
    again = run(f"restore {backup} --dry-run", empty)
    assert again.exit_code == 0
    assert "plan: 0 to create, 0 to overwrite, 0 skipped, 3 unchanged" in again.text


def test_nothing_is_written_without_confirmation(backup: Path, run: Any) -> None:
    empty = MemoryCluster()
    with pytest.raises(HeadraceError, match="not confirmed; nothing was changed"):
        run(f"restore {backup}", empty, answer=False)
    assert empty.changes == []
    assert run(f"restore {backup} --yes", empty, answer=False).exit_code == 0


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        (
            connector("files", "RUNNING", SOURCE, file="/theirs"),
            "someone else has changed it since it was planned: file",
        ),
        (connector("files", "STOPPED", SOURCE, file="/other"), "planned: RUNNING → STOPPED (run the restore again"),
    ],
)
def test_a_connector_that_changes_while_the_plan_is_confirmed_is_kept(
    backup: Path, run: Any, theirs: Json, message: str
) -> None:
    cluster = MemoryCluster(files=connector("files", "RUNNING", SOURCE, file="/other"))

    def meanwhile(question: str) -> bool:
        cluster.connectors["files"] = copy.deepcopy(theirs)
        return True

    result = run(f"restore {backup} files --overwrite", cluster, answer=meanwhile)
    assert result.exit_code == CONFLICT and message in result.outcomes[0].message
    assert cluster.connectors["files"] == theirs and not cluster.changes


def test_offsets_that_change_while_the_plan_is_confirmed_are_kept(backup: Path, run: Any) -> None:
    cluster = MemoryCluster(orders=connector("orders", "STOPPED", sink(9), sink(7, partition=1), topics="orders"))

    def meanwhile(question: str) -> bool:
        cluster.connectors["orders"]["offsets"] = [sink(3), sink(7, partition=1)]
        return True

    result = run(f"restore {backup} orders --overwrite", cluster, answer=meanwhile)
    assert result.exit_code == CONFLICT and "someone else changed" in result.outcomes[0].message
    assert cluster.connectors["orders"]["offsets"] == [sink(3), sink(7, partition=1)]


def test_a_confirmed_plan_is_carried_out_as_it_was_shown(backup: Path, run: Any) -> None:
    """As on the screen, where the question is about a dry run: by then another connector differs, too."""
    cluster = filled()
    cluster.connectors["files"]["config"]["file"] = "/other"
    shown = run(f"restore {backup} --overwrite --dry-run", cluster)
    cluster.connectors["idle"]["config"]["password"] = "new"
    result = run(f"restore {backup} --overwrite --yes", cluster, plan=shown.plan)
    assert [outcome.message for outcome in result.outcomes] == ["config replaced, resumed", "unchanged", "unchanged"]
    assert cluster.connectors["idle"]["config"]["password"] == "new"
    assert cluster.connectors["files"] == filled().connectors["files"]


def test_connectors_that_differ_are_skipped_or_overwritten(backup: Path, run: Any) -> None:
    changed = MemoryCluster(
        files=connector("files", "RUNNING", SOURCE, file="/in", topic="other"),
        orders=connector("orders", "PAUSED", sink(9), sink(3, "gone"), sink(7, partition=1), topics="orders"),
        idle=connector("idle", "STOPPED", password="${file:/s:key}"),
    )
    before = copy.deepcopy(changed.connectors)
    skipped = run(f"restore {backup}", changed)
    assert skipped.exit_code == 0
    assert changed.connectors == before
    outcomes = {outcome.name: outcome.message for outcome in skipped.outcomes}
    assert outcomes["files"] == "exists and differs (config (topic)): skipped; --overwrite replaces it"
    assert outcomes["orders"] == "exists and differs (2 offsets): skipped; --overwrite replaces it"
    run(f"restore {backup} --overwrite", changed)
    for one in changed.connectors.values():
        one["offsets"].sort(key=lambda entry: entry["partition"].get("kafka_partition", 0))
    assert changed.connectors == filled().connectors
    assert not any("/connectors/idle" in change for change in changed.changes)


def test_a_backup_without_offsets_leaves_them_as_they_are(tmp_path: Path, run: Any) -> None:
    cluster, path = filled(), tmp_path / "b"
    run(f"backup {path} --no-offsets", cluster)
    assert "offsets" not in path.read_text()
    assert run(f"restore {path} --overwrite --dry-run", cluster).exit_code == 0
    cluster.connectors["orders"]["config"]["tasks.max"] = "7"
    run(f"restore {path} --overwrite", cluster)
    assert cluster.connectors == filled().connectors
    empty = MemoryCluster()
    run(f"restore {path} --rename *=dr-*", empty)
    assert [one["offsets"] for one in empty.connectors.values()] == [[], [], []]


@pytest.mark.parametrize("offsets", [(), (SOURCE,)])
def test_offsets_that_an_earlier_connector_has_left_are_reset(tmp_path: Path, run: Any, offsets: Any) -> None:
    """Deleting a connector keeps its offsets, and one that is created under its name has them."""
    saved, path = MemoryCluster(a=connector("a", "RUNNING", *offsets)), tmp_path / "b"
    run(f"backup {path}", saved)
    cluster = MemoryCluster()
    cluster.left = [{"partition": {"filename": "/old"}, "offset": {"position": 3}}]
    assert run(f"restore {path}", cluster).exit_code == 0
    assert cluster.connectors == saved.connectors
    kept = MemoryCluster()
    kept.left = cluster.left
    run(f"restore {path} --no-offsets", kept)
    assert kept.connectors["a"]["offsets"] == cluster.left


@pytest.mark.parametrize("state", ["RUNNING", "PAUSED", "STOPPED"])
@pytest.mark.parametrize("before", ["RUNNING", "PAUSED", "STOPPED"])
def test_states_are_overwritten(tmp_path: Path, run: Any, state: str, before: str) -> None:
    run(f"backup {tmp_path / 'b'}", MemoryCluster(a=connector("a", state, SOURCE)))
    cluster = MemoryCluster(a=connector("a", before, SOURCE))
    run(f"restore {tmp_path / 'b'} --overwrite", cluster)
    assert cluster.connectors["a"]["state"] == state


@pytest.mark.parametrize("target", ["empty", "other"])
def test_a_restore_that_dies_at_any_request_continues(backup: Path, run: Any, target: str) -> None:
    line = f"restore {backup}" if target == "empty" else f"restore {backup} --overwrite"

    def start() -> MemoryCluster:
        other = {name: connector(name, "RUNNING", SOURCE, file="/other") for name in ("files", "orders", "idle")}
        return MemoryCluster(**({} if target == "empty" else other))

    whole = start()
    run(line, whole)
    assert len(whole.changes) >= 7
    for last in range(1, len(whole.changes) + 1):
        for sent in (False, True):
            cluster = start()

            def die(number: int, call: ApiCall, last: int = last, sent: bool = sent, cluster: Any = cluster) -> None:
                if number == last:
                    if sent:
                        cluster._answer(call)
                    raise Killed

            cluster.fails = die
            with pytest.raises(Killed):
                run(line, cluster)
            cluster.fails = lambda number, call: None
            assert run(line, cluster).exit_code == 0, (last, sent)
            assert cluster.connectors == whole.connectors, (last, sent)
            assert run("get unfinished", cluster).names == (), (last, sent)


def test_a_connector_runs_only_with_its_offsets(backup: Path, run: Any) -> None:
    cluster = MemoryCluster()

    def refuse(number: int, call: ApiCall) -> None:
        if call.method == "PATCH" and "orders" in call.path:
            raise BadRequest("Topic orders does not exist", 400)

    cluster.fails = refuse
    result = run(f"restore {backup}", cluster)
    assert result.exit_code == 1
    assert [outcome.name for outcome in result.outcomes if outcome.failed] == ["orders"]
    assert "Topic orders does not exist" in next(one.message for one in result.outcomes if one.failed)
    assert "run the restore again" in next(one.message for one in result.outcomes if one.failed)
    assert {name: one["state"] for name, one in cluster.connectors.items()} == {
        "files": "RUNNING", "orders": "STOPPED", "idle": "STOPPED",
    }  # fmt: skip
    cluster.fails = lambda number, call: None
    assert run(f"restore {backup}", cluster).exit_code == 0
    assert cluster.connectors == filled().connectors


def test_a_connector_that_may_have_been_resumed_is_not_reported_as_stopped(backup: Path, run: Any) -> None:
    cluster = MemoryCluster()

    def lose_the_response(number: int, call: ApiCall) -> None:
        if call.path == "/connectors/orders/resume" or call.path == "/connectors/files/resume":
            raise TimedOut("no response within 30 s")

    cluster.fails = lose_the_response
    result = run(f"restore {backup}", cluster)
    message = next(one.message for one in result.outcomes if one.failed)
    assert "the change may have taken effect; run the restore again" in message and "STOPPED" not in message


def test_the_plan_lists_some_offsets(tmp_path: Path, run: Any) -> None:
    many = [{"partition": {"filename": f"/{n}"}, "offset": {"position": n}} for n in range(25)]
    run(f"backup {tmp_path / 'b'}", MemoryCluster(a=connector("a", "STOPPED", *many)))
    text = run(f"restore {tmp_path / 'b'} --dry-run", MemoryCluster()).text
    assert text.count("position") == 20
    assert "    and 5 more" in text.splitlines()


def test_an_unreachable_cluster_ends_the_restore(backup: Path, run: Any) -> None:
    cluster = MemoryCluster()

    def away(number: int, call: ApiCall) -> None:
        raise Unreachable("connection refused")

    cluster.fails = away
    result = run(f"restore {backup}", cluster)
    assert result.exit_code == 5
    assert [one.message for one in result.outcomes][1:] == ["not tried: the cluster is unreachable"] * 2


def test_nothing_is_restored_if_a_config_is_invalid(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "b"
    run(f"backup {path}", MemoryCluster(bad=connector("bad", file=""), good=connector("good")))
    empty = MemoryCluster()
    with pytest.raises(HeadraceError, match=r"nothing was restored, since bad cannot be \(--partial"):
        run(f"restore {path}", empty)
    assert empty.changes == []
    result = run(f"restore {path} --partial", empty)
    assert result.exit_code == 1
    assert set(empty.connectors) == {"good"}


def test_names_topics_and_values_are_mapped(backup: Path, run: Any) -> None:
    empty = MemoryCluster()
    run(f"restore {backup} orders files --rename '*=dr-*' --topic orders=dr.orders --set tasks.max=3 --stopped", empty)
    assert set(empty.connectors) == {"dr-orders", "dr-files"}
    one = empty.connectors["dr-orders"]
    assert one["config"]["topics"] == "dr.orders"
    assert one["config"]["tasks.max"] == "3"
    assert one["config"]["name"] == "dr-orders"
    assert one["offsets"] == [sink(5, "dr.orders"), sink(7, "dr.orders", 1)]
    assert one["state"] == "STOPPED"
    assert empty.connectors["dr-files"]["config"]["topic"] == "dr.orders"


def test_masked_values_are_not_restored(tmp_path: Path, run: Any) -> None:
    path, said = tmp_path / "b", list[str]()
    run(f"backup {path}", MemoryCluster(a=connector("a", "STOPPED", password="********")), said)
    assert any("password is masked by the cluster" in text for text in said)
    with pytest.raises(HeadraceError, match="nothing was restored"):
        run(f"restore {path}", MemoryCluster())
    empty = MemoryCluster()
    run(f"restore {path} --set password=new", empty)
    assert empty.connectors["a"]["config"]["password"] == "new"
    kept = MemoryCluster(a=connector("a", "STOPPED", password="old", file="/other"))
    run(f"restore {path} --overwrite", kept)
    assert kept.connectors["a"]["config"] == {"name": "a", "connector.class": "a.B", "password": "old"}


def test_secrets_are_not_shown_in_the_plan(tmp_path: Path, run: Any) -> None:
    path, said = tmp_path / "b", list[str]()
    run(f"backup {path}", MemoryCluster(a=connector("a", "STOPPED", password="secret")))
    run(f"restore {path} --overwrite", MemoryCluster(a=connector("a", "STOPPED", password="hidden")), said)
    assert any("+ password=********" in text for text in said)
    assert not any("secret" in text or "hidden" in text for text in said)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no json", "not JSON"),
        ('{"a": 1}', "is not a backup"),
        ('{"headrace_backup": 2}', "has the format 2, this program reads 1"),
        ('{"headrace_backup": 1, "connectors": []}', "connectors and cluster must be objects"),
        ('{"headrace_backup": 1, "connectors": {"a": {"x": 1}}}', "connector a: unknown key 'x'"),
        ('{"headrace_backup": 1, "connectors": {"a": {"config": {"k": 1}}}}', "connector a: config must be an object"),
        ('{"headrace_backup": 1, "connectors": {"a": {"config": {}, "state": "GONE"}}}', "state 'GONE' is not one of"),
        ('{"headrace_backup": 1, "connectors": {"a": {"config": {}, "offsets": [1]}}}', "offsets must be a list"),
    ],
)
def test_errors_of_a_file_name_the_place(tmp_path: Path, run: Any, content: str, message: str) -> None:
    (tmp_path / "b").write_text(content)
    with pytest.raises(UsageError, match=re.escape(message)):
        run(f"restore {tmp_path / 'b'}", MemoryCluster())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--rename a", "--rename 'a': expected OLD=NEW"),
        ("--rename a*=b", "a * must be in both names"),
        ("--rename '*=one'", "a * must be in both names"),
        ("--set x", "--set 'x': expected KEY=VALUE"),
        ("nothing", "has no connector nothing; it has files, idle, orders"),
        ("--rename files=x --rename idle=x", "two connectors of the backup would be named x"),
    ],
)
def test_errors_of_the_command_line(backup: Path, run: Any, words: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        run(f"restore {backup} {words}", MemoryCluster())

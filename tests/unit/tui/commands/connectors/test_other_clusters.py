"""Commands on clusters in memory: names that collide, --read-only, offsets of another connector, masked values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.console.command_context import run_command
from tests.support.console.console_transports import InMemory
from tests.unit.tui.scripted import expanded, status
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.commands.result import Result
from tui.config.secrets import MASK
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.policy import guard
from tui.contexts.profiles import Profile
from tui.errors import NotFound, ReadOnly, UsageError

Json = Any
CONFIG = {"connector.class": "x.Y", "topics": "t"}
OFFSET = {"partition": {"f": "x"}, "offset": {"p": 5}}


class MemoryCluster(InMemory):
    """Connectors, and answers to further requests by path."""

    def __init__(self, *names: str, **answers: Json) -> None:
        self.connectors = {name: {**CONFIG, "name": name} for name in names}
        self.answers = {f"/{path}": answer for path, answer in answers.items()}
        self.changes: list[Json] = []
        self.definitions: dict[str, Json] = {}

    async def send(self, call: ApiCall) -> Json:
        path = call.path.partition("?")[0]
        if call.changes:
            self.changes.append(call.body)
            return {}
        if path.endswith("/validate"):
            return {"configs": []}
        if path.startswith("/connector-plugins/"):
            return self.definitions.get(path.split("/")[2], [])
        if path == "/connectors" and "?" in call.path:
            statuses = expanded(*map(status, self.connectors))
            return {name: {**one, "info": {"config": self.connectors[name]}} for name, one in statuses.items()}
        if path == "/connectors":
            return list(self.connectors)
        if path.endswith("/config") and (found := self.connectors.get(path.split("/")[2])):
            return found
        if path in self.answers:
            return self.answers[path]
        raise NotFound("HTTP 404", 404)


@pytest.fixture
def run(own_folders: Path) -> Any:
    file = own_folders / "contexts.toml"
    file.write_text('[contexts.there]\nurl = "http://there:8083"\n')
    (own_folders / "config.toml").write_text('[promote.there]\nnames = { "-a" = "", "-b" = "" }\n')

    def run(
        line: str, here: MemoryCluster, there: MemoryCluster | None = None, read_only: bool = False, plan: Any = None
    ) -> Result:
        profile = Profile("http://here:8083", "here")
        profile = profile.as_read_only() if read_only else profile
        return run_command(
            line,
            Connect(here, guard(profile)),
            profile,
            profiles=ContextsFile(file),
            read=lambda path: Path(path).read_text(),
            connect_other=lambda other: Connect(there or MemoryCluster(), guard(other)),
            plan=plan,
        )

    return run


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("promote 'orders-*' --as orders --to there -y", "--as needs exactly one connector"),
        ("promote orders-a orders-b --to there -y", "orders-a and orders-b would both be orders in there"),
    ],
)
def test_two_connectors_are_not_promoted_to_one(run: Any, line: str, message: str) -> None:
    there = MemoryCluster()
    with pytest.raises(UsageError, match=message):
        run(line, MemoryCluster("orders-a", "orders-b"), there)
    assert there.changes == []


def test_read_only_holds_for_the_other_cluster(run: Any) -> None:
    there = MemoryCluster()
    with pytest.raises(ReadOnly, match="--read-only was given"):
        run("promote orders-a --to there -y", MemoryCluster("orders-a"), there, read_only=True)
    assert there.changes == []


@pytest.mark.parametrize(("created", "restored"), [(100, True), (300, False)])
def test_offsets_of_an_earlier_connector_are_not_restored(run: Any, created: int, restored: bool) -> None:
    """A connector deleted with its offsets at 200; if it was created again later, it has left offsets of its own."""
    entry = {"who": "", "why": "", "state": "STOPPED"}
    deletion = {**entry, "number": 2, "time": 400, "action": "delete", "before": CONFIG, "after": None}
    creation = {**entry, "number": 1, "time": created, "action": "create", "before": None, "after": CONFIG}
    offsets = {"number": 1, "time": 200, "action": "delete", "who": "", "why": "", "before": [OFFSET], "after": []}
    here = MemoryCluster()
    here.answers = {
        "/connectors/a/config/history": {"history": [deletion, creation]},
        "/connectors/a/offsets/history": {"history": [offsets]},
    }
    (refused,) = run("undo delete a -s pin=[hidden] -y", here).outcomes
    assert "this is a mask" in refused.message and not here.changes
    run("undo delete a -y", here)
    (body,) = here.changes
    assert body.get("initial_offsets", []) == ([OFFSET] if restored else [])


class Pins(MemoryCluster):
    """A connector whose class and transformation define keys of type PASSWORD, with a history."""

    def __init__(self, pin: str) -> None:
        super().__init__("a")
        self.connectors["a"] |= {"pin": pin, "transforms": "t", "transforms.t.type": "x.T", "transforms.t.salt": pin}
        self.definitions = {
            plugin: [{"name": key, "type": "PASSWORD"}] for plugin, key in (("x.Y", "pin"), ("x.T", "salt"))
        }
        before = {**self.connectors["a"], "pin": "4711-old", "transforms.t.salt": "4711-old", "topics": "before"}
        entry = {"number": 2, "time": 400, "action": "update", "who": "", "why": "", "state": "STOPPED"}
        self.answers["/connectors/a/config/history"] = {
            "history": [{**entry, "before": before, "after": self.connectors["a"]}]
        }


@pytest.mark.parametrize(
    "line",
    [
        "diff --with there",
        "diff --with there -o json",
        "get config history a",
        "undo config a --dry-run",
        "rollback config a --to 2 --dry-run",
        "patch connector a -s pin=4711-new -s topics=u --dry-run",
        "promote a --to there --dry-run",
        "apply -f FILE --dry-run",
    ],
)
def test_values_of_type_password_are_masked_whatever_their_key(run: Any, line: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"name": "a", "config": {**CONFIG, "pin": "4711-file", "topics": "u"}}))
    here, there = Pins("4711-here"), Pins("4711-there")
    there.connectors["a"] |= {"topics": "u"}
    found = run(line.replace("FILE", str(file)), here, there)
    shown = repr((found._replace(plan=None), [str(one) for one in found.outcomes]))
    assert "4711" not in shown and MASK in shown and "topics" in shown


def test_diff_shows_unequal_offsets_but_does_not_count_them(run: Any) -> None:
    def sink(*offsets: int) -> MemoryCluster:
        one = MemoryCluster("a")
        places = [{"kafka_topic": "t", "kafka_partition": number} for number in range(len(offsets))]
        entries = [{"partition": at, "offset": {"kafka_offset": n}} for at, n in zip(places, offsets, strict=True)]
        one.answers = {"/connectors/a/offsets": {"offsets": entries}}
        return one

    here, there = sink(5, 1200, 7), sink(5, 200)
    found = run("diff --with there --offsets", here, there)
    assert found.table.rows == (
        ("a", "same", "", "", ""),
        ("a", "offset unequal", "t-1", "1200", "200 (−1,000)"),
        ("a", "offset only here", "t-2", "7", "(none)"),
    )
    assert not found.pending and not found.names, "exit code 0"
    assert run("diff --with there", here, there).text == "no differences between 1 connector"


def test_the_plan_that_was_confirmed_is_applied(run: Any, tmp_path: Path) -> None:
    """Files and configs that change after the confirmation change nothing."""
    here, there, file = MemoryCluster("one-a", "old"), MemoryCluster("one"), tmp_path / "old.json"
    file.write_text(json.dumps({"name": "old", "config": {**CONFIG, "topics": "shown"}}))
    apply, promote = f"apply -f {file}", "promote connector one-a --to there -s topics=shown"
    plans = [run(f"{line} --dry-run", here, there).plan for line in (apply, promote)]
    file.write_text(json.dumps({"name": "old", "config": {**CONFIG, "topics": "later"}}))
    here.connectors["one-a"]["tasks.max"] = "9"
    for line, cluster, plan in zip((apply, promote), (here, there), plans, strict=True):
        assert run(f"{line} -y --settle 0s", here, there, plan=plan).exit_code == 0
        assert cluster.changes == [{"topics": "shown"}]


@pytest.mark.parametrize("line", ["apply -f {} --prune", "promote connector one-a --to there -s topics=shown"])
def test_a_plan_is_refused_if_the_cluster_has_changed(run: Any, tmp_path: Path, line: str) -> None:
    here, there = MemoryCluster("one-a", "old"), MemoryCluster("one")
    (tmp_path / "files").mkdir()
    for name in ("old", "new"):
        text = json.dumps({"name": name, "config": {**CONFIG, "topics": "shown"}})
        (tmp_path / "files" / f"{name}.json").write_text(text)
    line = line.format(tmp_path / "files")
    plan = run(f"{line} --dry-run", here, there).plan
    for cluster, names in ((here, ("old", "new", "one-a")), (there, ("one",))):
        cluster.connectors |= {name: {**CONFIG, "name": name, "topics": "theirs"} for name in names}
    done = run(f"{line} -y --settle 0s", here, there, plan=plan)
    assert {outcome.code for outcome in done.outcomes} <= {1, 4}
    assert not here.changes and not there.changes

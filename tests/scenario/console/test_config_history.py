"""History and rollback of configs, undo of a deletion, comparison and promotion, with Apache's worker and with ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.clusters import rest
from tests.support.console.script_console import Console
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess


@pytest.fixture(params=["java_connect", "our_connect"])
def console(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    worker: WorkerProcess = request.getfixturevalue(request.param)
    return Console(worker.url, tmp_path)


@pytest.fixture
def source(console: Console, broker: KafkaBroker, tmp_path: Path) -> Iterator[str]:
    """A STOPPED file source with offsets and a secret, deleted at the end."""
    name = unique("past")
    lines = tmp_path / "lines.txt"
    lines.write_text("one\ntwo\n")
    file = tmp_path / f"{name}.properties"
    text = f"name={name}\nconnector.class=FileStreamSource\nfile={lines}\ntopic={broker.create_topic()}\n"
    file.write_text(f"{text}database.password=s3cret\nbatch.size=10\n")
    console(f"apply -f {file}", f"wait {name} RUNNING")
    wait_until(lambda: console(f"get topics {name} -o name").out, 60, "a record")
    console(f"stop {name}", f"wait {name} STOPPED")
    yield name
    if any(entry["name"] == name for entry in console("get connectors -o json").json):
        console(f"delete {name}")


def config(console: Console, name: str) -> dict[str, str]:
    return dict(rest.request(f"{console.url}/connectors/{name}/config")[1])


def offsets(console: Console, name: str) -> Any:
    return rest.request(f"{console.url}/connectors/{name}/offsets")[1]["offsets"]


def test_changes_are_listed_undone_and_rolled_back(console: Console, source: str) -> None:
    console(f"patch {source} -s batch.size=20 -s tasks.max=1", f"patch {source} -s batch.size=30 -r tasks.max")
    found = console(f"get config history {source} -o json")
    last, *_, first = found.json["history"]
    assert (last["action"], first["action"], first["before"]) == ("update", "create", None)
    assert last["before"]["batch.size"] == "20" and last["after"]["batch.size"] == "30" and "s3cret" not in found.out
    assert "~batch.size, −tasks.max" in console(f"get config history {source}").out
    assert "batch.size=20" in console(f"undo config {source} --dry-run").err
    assert config(console, source)["batch.size"] == "30", "a dry run changes nothing"
    console(f"undo config {source}")
    assert (config(console, source)["batch.size"], config(console, source)["tasks.max"]) == ("20", "1")
    console(f"undo config {source}")
    assert config(console, source)["batch.size"] == "30", "a second undo restores the change"
    number = first["number"] + 1
    console(f"rollback config {source} --to {number}")
    now = config(console, source)
    assert now["batch.size"] == "10" and "tasks.max" not in now
    assert "nothing to change" in console(f"rollback config {source} --to {number}").err
    console(f"rollback config {source} --to 99", code=3)
    console(f"rollback config {source} --to {first['number']}", code=1)


def test_a_deletion_is_undone_with_state_and_offsets(
    request: pytest.FixtureRequest, console: Console, source: str
) -> None:
    before, committed = config(console, source), offsets(console, source)
    assert committed
    is_ours = request.node.callspec.params["console"] == "our_connect"
    secret = "" if is_ours else "-s database.password=s3cret"
    console(f"delete {source} --with-offsets")
    assert source in console("get deleted -o name").out.split()
    if secret:  # this machine's history hides secrets
        assert "database.password" in console(f"undo delete {source}", code=1).err
    assert "STOPPED" in console(f"undo delete {source} {secret} --dry-run").err
    console(f"undo delete {source} {secret}", f"wait {source} STOPPED")
    assert config(console, source) == before and offsets(console, source) == committed
    assert source not in console("get deleted -o name").out.split()
    console(f"delete {source}", f"undo delete {source} {secret} --state RUNNING", f"wait {source} RUNNING")
    assert offsets(console, source) == committed, "a deletion without --with-offsets keeps the offsets"
    console(f"undo delete {source}", code=4)
    console(f"delete {source} --with-offsets")


def test_connectors_are_compared_and_promoted(
    java_connect: WorkerProcess, our_connect: WorkerProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    """From Apache's worker to ours, by the mapping of config.toml; new connectors are STOPPED."""
    settings = tmp_path / "headrace"
    settings.mkdir()
    urls = {"here": java_connect.url, "there": our_connect.url, "closed": our_connect.url}
    text = "".join(f'[contexts.{name}]\nurl = "{url}"\n' for name, url in urls.items())
    (settings / "contexts.toml").write_text(f"{text}read-only = true\n")
    (settings / "config.toml").write_text(
        '[promote.there]\nnames = { "dev-" = "prod-" }\nvalues = { "dev" = "prod" }\n'
        'set = { "tasks.max" = "2" }\nremove = ["batch.size"]\n'
    )
    here, there = Console("--context=here", tmp_path), Console("--context=there", tmp_path)
    mark = unique("m")
    names = [f"dev-{mark}-{number}" for number in range(2)]
    for name in names:
        config = {"connector.class": "FileStreamSource", "file": f"/nowhere/dev/{mark}", "topic": f"dev-{mark}",
                  "tasks.max": "1", "batch.size": "9", "db.password": "s3cret"}  # fmt: skip
        body = {"name": name, "config": config, "initial_state": "STOPPED"}
        assert rest.request(f"{java_connect.url}/connectors", "POST", body)[0] == 201
    plan = here(f"promote 'dev-{mark}-*' --to there --dry-run", code=8)
    assert "+ topic=prod-" in plan.out and "s3cret" not in plan.out and "2 to create" in plan.out
    assert f"prod-{mark}-0" not in there("get connectors -o name").out
    here(f"promote {names[0]} --to closed", code=7)
    here(f"promote {names[0]} --to nowhere", code=2)
    assert "created STOPPED in there" in here(f"promote {names[0]} {names[1]} --to there -s topic=t-{mark}").err
    there(f"wait prod-{mark}-0 STOPPED")
    made = rest.request(f"{our_connect.url}/connectors/prod-{mark}-0/config")[1]
    assert (made["file"], made["topic"], made["tasks.max"]) == (f"/nowhere/prod/{mark}", f"t-{mark}", "2")
    assert "batch.size" not in made and made["db.password"] == "s3cret"
    found = here(f"diff {names[0]} --with there --as prod-{mark}-0 -o json", code=8).json
    assert {one["key"] for one in found[0]["keys"]} == {"file", "topic", "tasks.max", "batch.size"}
    assert [one["difference"] for one in here(f"diff {names[0]} --with there -o json", code=8).json] == ["only here"]
    assert "updated in there: topic" in here(f"promote {names[0]} --to there").err
    assert "no differences" in here(f"diff {names[0]} --with there --mapped").out
    bad = here(f"promote {names[0]} {names[1]} --to there -s connector.class=Nonsense", code=1)
    assert "refuses the config" in bad.err or "Nonsense" in bad.err
    for name in names:
        rest.request(f"{java_connect.url}/connectors/{name}", "DELETE")

"""Each command of the grammar with Apache's worker and with ours."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.console.script_console import Console
from tests.support.workers import WorkerProcess
from tui.wire.audit import audit_file


@pytest.fixture(params=["java_connect", "our_connect"])
def console(request: pytest.FixtureRequest, tmp_path: Path) -> Console:
    return Console(request.getfixturevalue(request.param).url, tmp_path)


class Files:
    """A folder of connector files, and their connectors on the cluster."""

    def __init__(self, folder: Path, topic: str) -> None:
        self.folder, self.topic, self.prefix = folder, topic, unique("plan")
        folder.mkdir()

    def source(self, short: str, **more: str) -> str:
        name = f"{self.prefix}-{short}"
        config = {"connector.class": "FileStreamSource", "file": f"/none/{short}", "topic": self.topic, **more}
        (self.folder / f"{short}.json").write_text(json.dumps({"name": name, "config": config}))
        return name


@pytest.fixture
def files(console: Console, broker: KafkaBroker, tmp_path: Path) -> Iterator[Files]:
    made = Files(tmp_path / "connectors", broker.create_topic())
    yield made
    there = console(f"get connectors -e '{made.prefix}.*' -o name").out.split()
    if there:
        console(f"delete {' '.join(there)}")


def test_plan_and_apply(console: Console, files: Files) -> None:
    a = files.source("a", **{"db.password": "hunter2", "ref": "${file:/etc/none:key}"})
    b = files.source("b")
    plan = console(f"apply -f {files.folder} --dry-run", code=8)
    assert f"@@ create {a} @@\n" in plan.out and "+ topic=" in plan.out and "hunter2" not in plan.out + plan.err
    assert plan.out.endswith("\nplan: 2 to create, 0 to update, 0 to delete, 0 unchanged\n")
    console(f"apply -f {files.folder}", f"wait {files.prefix}* RUNNING --timeout 60s")
    same = console(f"apply -f {files.folder} --dry-run")
    assert same.out == "plan: 0 to create, 0 to update, 0 to delete, 2 unchanged\n"

    files.source("a", **{"db.password": "********", "ref": "${file:/etc/none:key}", "batch.size": "7"})
    changed = console(f"apply -f {files.folder} --dry-run -o json", code=8).json
    assert changed == [
        {"name": a, "action": "update", "changes": [{"key": "batch.size", "before": None, "after": "7"}]},
        {"name": b, "action": "unchanged", "changes": []},
    ]
    console(f"apply -f {files.folder}")
    config = console(f"describe {a} -o json").json["info"]["config"]
    assert (config["db.password"], config["ref"], config["batch.size"]) == ("hunter2", "${file:/etc/none:key}", "7")
    masked = files.source("new", **{"db.password": "********"})
    refused = console(f"apply -f {files.folder}", code=1).err
    assert f"{masked}: " in refused and "db.password is a mask" in refused


def test_prune_deletes_what_no_file_describes(our_connect: WorkerProcess, broker: KafkaBroker, tmp_path: Path) -> None:
    """Not with Apache's worker, on which tests leave connectors: prune deletes them all."""
    console, files = Console(our_connect.url, tmp_path), Files(tmp_path / "c", broker.create_topic())
    keep, gone = files.source("keep"), files.source("gone")
    console(f"apply -f {files.folder} --prune -y", f"wait {files.prefix}* RUNNING --timeout 60s")
    (files.folder / "gone.json").unlink()
    plan = console(f"apply -f {files.folder} --prune --dry-run", code=8)
    assert f"@@ delete {gone} @@" in plan.out and "0 to update, 1 to delete, 1 unchanged" in plan.out
    (files.folder / "bad.json").write_text('{"name": "bad", "config": {"connector.class": "Nope"}}')
    failed = console(f"apply -f {files.folder} --prune -y", code=1).err
    assert f"{gone}: not deleted, because another change failed" in failed
    (files.folder / "bad.json").unlink()
    done = console(f"apply -f {files.folder} --prune -y", f"wait {gone} DELETED")
    assert f"{gone}: deleted" in done.err
    assert console("get connectors -o name").out == f"{keep}\n"
    console(f"delete {keep}")


def test_patch_connector_sends_changed_keys_only(console: Console, files: Files) -> None:
    a, b = files.source("a"), files.source("b", **{"batch.size": "3"})
    console(f"apply -f {files.folder}")
    shown = console(f"patch connector {a} {b} -s batch.size=7 -r poll.none --dry-run").err
    assert f"{a}: would be changed: + batch.size=7" in shown and "- batch.size=3; + batch.size=7" in shown
    done = console(f"patch connector -e '{files.prefix}-[ab]' -s batch.size=7 -s 'note=${{x:y}} = z'").err
    assert done.count("+ note=${x:y} = z") == 2
    again = console(f"patch {a} -s batch.size=7").err
    assert again == f"{a}: unchanged\n"
    console(f"patch connector {b} -r note -r batch.size")
    assert console(f"describe {b} -o json").json["info"]["config"].keys().isdisjoint({"note", "batch.size"})
    assert "KEY=VALUE" in console(f"patch connector {a} -s x", code=2).err
    assert console("patch connector nope -s a=b", code=3).err.startswith("headrace: nope: ")


def test_loggers_plugins_and_topics(console: Console, files: Files) -> None:
    logger = unique("test.logger").replace("-", ".")
    assert console(f"patch logger {logger} -l debug").err == f"{logger}: DEBUG for 1 logger\n"
    assert console(f"get loggers {logger} -o json").json[logger]["level"] == "DEBUG"
    assert console(f"patch logger {logger} -l INFO -s cluster").err == f"{logger}: INFO on all workers\n"
    assert "no logger matches" in console("get loggers none.of.them*", code=3).err
    assert "is not one of TRACE" in console("patch logger x -l LOUD", code=2).err
    assert "org.apache.kafka.connect.file.FileStreamSinkConnector" in console("get plugins -o name").out
    assert "converter" in console("get plugins -t all").out
    found = console("describe plugin FileStreamSource --search ^batch -o name").out
    assert found == "batch.size\n"
    assert "no key that" in console("describe plugin FileStreamSource --search ^zz", code=3).err
    assert console("describe plugin Nope", code=3).err.startswith("headrace: Nope: ")
    name = files.source("a")
    console(f"apply -f {files.folder}", f"wait {name} RUNNING --timeout 60s")
    assert console(f"get topics {name} -o json").json == {name: {"topics": []}}
    task = console(f"describe connector {name} --tasks-config").out
    assert "config of task 0" in task and "task.class" in task


def test_offsets_are_exported_and_imported_again(console: Console, files: Files, tmp_path: Path) -> None:
    name, kept = files.source("a"), tmp_path / "offsets.json"
    console(f"apply -f {files.folder}", f"stop {name}", f"wait {name} STOPPED --timeout 60s")
    entry = {"partition": {"filename": "/none/a"}, "offset": {"position": 12}}
    console(f"patch offsets {name} {json.dumps(entry)}")
    result = console(f"export offsets -e '{files.prefix}.*' -f {kept}")
    assert (result.out, result.err) == ("", f"1 offset of 1 connector, written to {kept}\n")
    assert json.loads(kept.read_text()) == {name: [entry]} == console(f"export offsets {name}").json
    assert console(f"import offsets -f {kept}").err == f"{name}: unchanged\n"
    console(f"delete offsets {name}")
    preview = console(f"import offsets -f {kept} --dry-run").err
    assert preview.startswith(f"{name}: ") and "position 12" in preview
    assert "altered successfully" in console(f"import offsets -f {kept}").out
    assert console(f"get offsets -e '{files.prefix}.*' -o json").json == {name: {"offsets": [entry]}}
    assert "no connector nope" in console(f"import offsets nope -f {kept}", code=2).err


def test_events(our_connect: WorkerProcess, java_connect: WorkerProcess, broker: KafkaBroker, tmp_path: Path) -> None:
    ours, files = Console(our_connect.url, tmp_path), Files(tmp_path / "c", broker.create_topic())
    name = files.source("a")
    ours(f"apply -f {files.folder}", f"wait {name} RUNNING --timeout 60s")
    assert ours("get events nobody --for 300ms").out == ""
    seen = threading.Event()

    def change() -> None:
        for verb in itertools.cycle(("pause", "resume")):
            if seen.wait(0.5):
                return
            our_connect.request("PUT", f"/connectors/{name}/{verb}")

    changing = threading.Thread(target=change)
    changing.start()
    try:
        event = ours(f"get events {name} -n 1 --for 60s -o json").json
    finally:
        seen.set()
        changing.join()
    assert (event["event"], event["connector"]) == ("connector", name)
    ours(f"delete {name}")
    java = Console(java_connect.url, tmp_path)("get events --for 1s", code=3)
    assert "only Headrace workers" in java.err


def test_changes_are_in_the_audit_log(console: Console, files: Files) -> None:
    name = files.source("a", **{"db.password": "hunter2"})
    console(f"apply -f {files.folder}", f"patch connector {name} -s note=x", f"pause {name}", "info")
    console(f"restart task {name}/77", code=3)
    entries = [json.loads(line) for line in audit_file(console.environ).read_text().splitlines()]
    mine = [entry for entry in entries if entry["connector"] == name]
    quoted = f"/connectors/{name}"
    assert [entry["what"] for entry in mine] == [
        f"PUT {quoted}/config",
        f"PATCH {quoted}/config",
        f"PUT {quoted}/pause",
        f"POST {quoted}/tasks/77/restart",
    ]
    assert all(entry["url"] == console.url and entry["from"] == "script" and "@" in entry["who"] for entry in mine)
    assert mine[0]["before"] is None and mine[0]["body"]["db.password"] == "[hidden]"
    assert mine[1]["before"]["db.password"] == "[hidden]" and "note" not in mine[1]["before"]
    assert mine[1]["answer"]["config"]["note"] == "x" and "error" in mine[3]
    assert "hunter2" not in audit_file(console.environ).read_text()
    assert audit_file(console.environ).stat().st_mode & 0o077 == 0

"""Commands on recorded workers of earlier versions of Connect."""

from __future__ import annotations

from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.console.command_context import command_context
from tests.support.console.recorded_worker import VERSIONS, RecordedWorker
from tui.client.calls import drive
from tui.client.client import Connect
from tui.commands.base import execute
from tui.commands.result import Result
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile
from tui.errors import UNSUPPORTED, HeadraceError, Unsupported
from tui.script.grammar import parse

STOPPING = "stopping a connector needs Connect 3.5; this is"
READING = "reading offsets needs Connect 3.5; this is"
CHANGING = "changing offsets needs Connect 3.6; this is"
OFFSETS = """'[{"partition": {"kafka_topic": "text", "kafka_partition": 0}, "offset": {"kafka_offset": 1}}]'"""


class Person:
    """Runs lines as a script does. `reads` are all texts that a person sees."""

    def __init__(self, worker: RecordedWorker, folder: Path) -> None:
        self.worker, self.folder, self.reads = worker, folder, list[str]()
        self.other: RecordedWorker | None = None

    def run(self, line: str) -> Result:
        """Raises HeadraceError."""
        command = parse(line)
        assert command is not None
        contexts = self.folder / "contexts.toml"
        contexts.write_text('[contexts.prod]\nurl = "http://prod:8083"\n')
        context = command_context(
            Connect(self.worker),
            Profile(self.worker.url, "here"),
            profiles=ContextsFile(contexts),
            read=lambda path: Path(path).read_text(),
            report=self.reads.append,
            connect_other=lambda profile: Connect(self.other or self.worker),
            clock=partial(next, count(0.0, 20.0)),  # recorded states do not change: no wait is in vain
        )
        try:
            result = drive(execute(command, context))
        except HeadraceError as error:
            self.reads.append(str(error))
            raise
        self.reads += [result.text, *(outcome.message for outcome in result.outcomes)]
        return result

    def code(self, line: str) -> int:
        """The exit code."""
        try:
            return self.run(line).exit_code
        except HeadraceError as error:
            return error.exit_code


@pytest.fixture
def person(own_folders: Path) -> Any:
    return lambda version: Person(RecordedWorker(version), own_folders)


@pytest.mark.parametrize(
    ("version", "line", "reason"),
    [
        ("3.4.1", "stop connector copy", f"{STOPPING} 3.4.1 (pause it)"),
        ("3.4.1", "stop connector 'c*'", f"{STOPPING} 3.4.1 (pause it)"),
        ("2.8.2", "get offsets copy", f"{READING} 2.8.2"),
        ("3.4.1", "export offsets copy", f"{READING} 3.4.1"),
        ("3.5.2", f"patch offsets copy {OFFSETS} --stop", f"{CHANGING} 3.5.2"),
        ("3.5.2", f"patch offsets copy {OFFSETS} --dry-run", f"{CHANGING} 3.5.2"),
        ("3.5.2", "delete offsets copy --stop -y", f"{CHANGING} 3.5.2"),
        ("3.5.2", "undo copy --stop", f"{CHANGING} 3.5.2"),
        ("3.5.2", "delete connector copy --with-offsets -y", f"{CHANGING} 3.5.2"),
        ("3.6.2", "patch logger org.apache.kafka.connect -l INFO -s cluster --dry-run", "needs Connect 3.7; this is"),
    ],
)
def test_what_the_version_cannot_do_is_refused_before_anything_is_changed(
    person: Any, version: str, line: str, reason: str
) -> None:
    someone = person(version)
    assert someone.code(line) == UNSUPPORTED
    assert any(reason in text for text in someone.reads), someone.reads
    assert someone.worker.sent == []


@pytest.mark.parametrize("version", VERSIONS)
def test_no_command_shows_the_worker_s_internals(person: Any, version: str, tmp_path: Path) -> None:
    file, document = tmp_path / "b.json", tmp_path / "new.json"
    document.write_text('{"name": "new", "config": {"connector.class": "FileStreamSink"}, "initial_state": "PAUSED"}')
    someone = person(version)
    lines = [
        "info", "get connectors", "describe connector copy", "get offsets copy", "get topics copy", "get plugins",
        "get loggers", "get offset history copy", "get config history copy", "export offsets", f"backup {file}",
        f"backup {file} --no-offsets", "stop connector copy", "pause connector copy", "resume connector copy",
        "restart connector broken -t FAILED", "restart task broken/0", f"patch offsets copy {OFFSETS}",
        f"patch offsets copy {OFFSETS} --stop", "delete offsets copy -y", "patch connector copy -s tasks.max=2",
        "patch logger org.apache.kafka.connect -l INFO", f"apply -f {document}", "promote copy --to prod --as other",
        f"restore {file} --no-offsets --rename copy=other --overwrite", "delete connector copy --with-offsets -y",
    ]  # fmt: skip
    for line in lines:
        someone.code(line)
    shown = [
        text for text in someone.reads if any(part in text for part in ("HTTP 40", "Unrecognized", "URL of", "did"))
    ]
    unknown = f"HTTP 404 Not Found (this worker, version {version}, does not know the request)"
    assert [text for text in shown if unknown not in text or "offsets" in text] == []


@pytest.mark.parametrize(
    ("version", "sent", "message"),
    [
        ("3.4.1", ["POST /connectors", "PUT /connectors/other/pause"], "created in prod, and then paused: stopping a"),
        ("3.6.2", ["POST /connectors", "PUT /connectors/other/stop"], "created in prod, and then stopped: creating a"),
        ("3.7.2", ["POST /connectors"], "created STOPPED in prod"),
    ],
)
def test_promote_creates_connectors_that_do_not_stay_running(
    person: Any, version: str, sent: list[str], message: str
) -> None:
    someone = person("4.0.0")
    someone.other = other = RecordedWorker(version)
    other.responses["GET", "/connectors/other/config"] = {"error": "", "status": 404, "message": "Connector not found"}
    result = someone.run("promote copy --to prod --as other -y")
    assert [request for request in other.sent if "validate" not in request] == sent
    assert message in result.outcomes[0].message and result.exit_code == 0
    assert someone.worker.sent == []


def test_a_new_connector_that_cannot_be_stopped_is_reported_as_running(person: Any) -> None:
    someone = person("4.0.0")
    someone.other = other = RecordedWorker("3.6.2")
    other.responses["GET", "/connectors/other/config"] = {"error": "", "status": 404, "message": "Connector not found"}
    other.responses["PUT", "/connectors/other/stop"] = {"error": "", "status": 500, "message": "no leader"}
    result = someone.run("promote copy --to prod --as other -y")
    assert result.exit_code and "created, but not stopped, so it runs: no leader" in result.outcomes[0].message


def test_a_level_for_all_workers_before_3_7_was_set_on_one(person: Any) -> None:
    result = person("3.6.2").run("patch logger org.apache.kafka.connect -l INFO -s cluster")
    text = "INFO on one worker only, the one that responded: setting a level on all workers needs Connect 3.7; this is"
    assert text in result.outcomes[0].message and result.exit_code == UNSUPPORTED
    assert person("3.7.2").run("patch logger org.apache.kafka.connect -l INFO -s cluster").exit_code == 0


def test_a_backup_without_offsets_is_a_choice(person: Any, tmp_path: Path) -> None:
    with pytest.raises(
        Unsupported, match=r"reading offsets needs .*--no-offsets leaves them out; the brokers have them"
    ):
        person("3.4.1").run(f"backup {tmp_path / 'b.json'}")
    person("3.4.1").run(f"backup {tmp_path / 'b.json'} --no-offsets")
    assert '"connectors"' in (tmp_path / "b.json").read_text()


def test_offsets_that_the_version_cannot_set_are_not_restored_in_part(person: Any, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    person("3.9.1").run(f"backup {file}")
    someone = person("3.5.2")
    with pytest.raises(Unsupported, match=f"{CHANGING} 3.5.2 .--no-offsets restores configs and states"):
        someone.run(f"restore {file} --rename copy=other -y")
    assert someone.worker.sent == []


def test_before_3_5_a_stopped_connector_is_restored_paused(person: Any, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    person("3.9.1").run(f"backup {file} copy --no-offsets")
    file.write_text(file.read_text().replace('"state": "RUNNING"', '"state": "STOPPED"'))
    someone = person("3.4.1")
    assert someone.run(f"restore {file} --rename copy=other -y").outcomes[0].message == "created, paused"
    assert [request for request in someone.worker.sent if "validate" not in request] == [
        "POST /connectors", "PUT /connectors/other/pause", "PUT /connectors/other/pause",
    ]  # fmt: skip
    assert any("new connectors are created and then paused: stopping a connector" in text for text in someone.reads)

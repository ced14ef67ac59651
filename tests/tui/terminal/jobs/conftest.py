"""Jobs of docs/jobs.md by keys in a terminal of 80x24, with their keys counted, on Apache's worker and on ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.console.counted_terminal import CountedTerminal
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile

HERE = ("--context", "here")
OURS, APACHE = "our_connect_url", pytest.param("connect_url", marks=pytest.mark.soak)


class JobCluster(Cluster):
    """A worker with the connector of a job, whose name has six characters, and one that the job must not touch."""

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__(url, folder)
        self.name = f"ord{uuid4().hex[:3]}"  # not one that has offsets of an earlier test
        self.beside = unique("audit")

    def file_source(self, name: str) -> str:
        file = self.folder / f"{name}.txt"
        file.write_text("one\ntwo\n")
        config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(file), "topic": unique("jobs")}
        return self.create(name, config)

    def file_sink(self, topic: str, **config: str) -> None:
        out = {"file": str(self.folder / f"{self.name}.out"), **config}
        self.create(self.name, {"connector.class": "FileStreamSink", "tasks.max": "1", "topics": topic, **out})

    def sink_at(self, offset: int, topic: str) -> None:
        """A sink that has committed this offset; beside it, another connector."""
        self.file_source(self.beside)
        self.file_sink(topic)
        at = [{"kafka_offset": offset}]
        wait_until(lambda: [entry for _, entry in self.offsets(self.name)] == at, 90, "the offset", every=0.1)

    def sink_of_five(self, broker: KafkaBroker) -> None:
        topic = unique("jobs")
        broker.produce(topic, b"1", b"2", b"3", b"4", b"5")
        self.sink_at(5, topic)

    def repaired_sink(self) -> None:
        """A sink whose task has failed, since the folder of its file was missing; the folder exists now."""
        self.file_source(self.beside)
        self.file_sink(unique("jobs"), file=str(self.folder / "late" / "out"))
        self.wait_failed(self.name)
        (self.folder / "late").mkdir()


@pytest.fixture(params=[OURS, APACHE])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JobCluster]:
    one = JobCluster(request.getfixturevalue(request.param), tmp_path)
    yield one
    one.close()


@pytest.fixture(autouse=True)
def contexts(cluster: Cluster, broker: KafkaBroker, own_folders: Path) -> ContextsFile:
    """Folders of the test, with the current context `here`."""
    file = ContextsFile(own_folders / "config" / "headrace" / "contexts.toml")
    file.put(Profile(cluster.url, "here", bootstrap=broker.bootstrap))
    file.use("here")
    return file


def select(terminal: CountedTerminal, cluster: JobCluster) -> None:
    """Filters by three characters of the name."""
    terminal.sees(cluster.name, "audit")
    terminal.press("/", *"ord")
    terminal.sees("by /ord")
    terminal.press("enter")
    terminal.until(lambda: "audit" not in terminal.text, "the filter")

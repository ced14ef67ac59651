"""Apache's Connect workers of earlier versions. `VERSION.txt` lists the jars of a version by their coordinates."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.embedded.processes.service import last_error
from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from tests.support.broker import unique
from tests.support.clusters import rest
from tests.support.free_ports import free_port
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, worker_properties, write_properties

HERE = Path(__file__).parent
VERSIONS = tuple(sorted(file.stem for file in HERE.glob("*.txt")))
_LOG4J = """\
log4j.rootLogger=WARN, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=%p %c %m%n
"""


class EarlierWorker(WorkerProcess):
    """A worker that may have no `GET /health` (KIP-1017)."""

    def wait_healthy(self, timeout: float = 60.0) -> None:
        def serves() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, f"the worker has ended: {last_error(self.log)}"
            return rest.answers(f"{self.url}/connectors")

        wait_until(serves, timeout, f"{self.url}/connectors")


def connect_worker(folder: Path, bootstrap: str, version: str) -> EarlierWorker:
    """Apache's distributed worker of this version, not started yet, with its file connectors."""
    java, port, group = find_java(), free_port(), unique(f"connect-{version}")
    coordinates = (HERE / f"{version}.txt").read_text("utf-8").split()
    class_path = sorted(jars.fetch(f"connect-{version}", coordinates, java).glob("*.jar"))
    properties = worker_properties(group, port, bootstrap)
    file = write_properties(folder / f"{group}.properties", properties)
    log4j = folder / "log4j.properties"
    log4j.write_text(_LOG4J)
    jvm = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j.configuration=file:{log4j}")
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    command = [str(java.program), *jvm, "-cp", os.pathsep.join(map(str, class_path)), main, str(file)]
    return EarlierWorker(command, port, folder / f"{group}.log", properties)

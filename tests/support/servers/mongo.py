"""A server that speaks MongoDB's protocol and keeps its data in memory, from Maven Central."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.embedded.broker import broker
from runtime.embedded.processes import ports
from runtime.embedded.processes.process import spawn
from runtime.java.host.install import compile_sources
from runtime.java.install.coordinate import Coordinate
from runtime.java.install.resolver import Repositories, resolve
from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from tests.support.free_ports import free_port
from tests.support.waiting import wait_until

_SERVER = "de.bwaldvogel:mongo-java-server:1.47.0"
_MAIN = """
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;

public class Main {
    public static void main(String[] arguments) throws Exception {
        MongoServer server = new MongoServer(new MemoryBackend());
        server.enableOplog(); // change streams
        server.bind("127.0.0.1", Integer.parseInt(arguments[0]));
        Thread.sleep(Long.MAX_VALUE);
    }
}
"""


@contextmanager
def mongo_server() -> Iterator[str]:
    """A running server; its connection string."""
    java = find_java()
    found = resolve(Coordinate.parse(_SERVER), Repositories(), sys.stderr)
    class_path = [*found, *jars.fetch("broker", broker.BROKER, java).glob("slf4j-*.jar")]
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="headrace-mongo-") as folder:
        classes = compile_sources(java.program, class_path, {"Main.java": _MAIN}, Path(folder))
        paths = os.pathsep.join(map(str, [classes, *class_path]))
        command = [str(java.program), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", paths, "Main"]
        process = spawn([*command, str(port)], Path(folder, "log"))
        try:
            wait_until(lambda: ports.is_open(port) or process.poll() is not None, 20, "the server listens")
            assert process.poll() is None, Path(folder, "log").read_text()[-1000:]
            yield f"mongodb://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()

"""A hostile Java plugin: its JVM sends the slot what it likes."""

from __future__ import annotations

import socket
import struct
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.api.errors import ConnectError
from runtime.java.errors import HostLostError, InvalidFrameError
from runtime.java.host.class_names import ClassNames
from runtime.java.host.control import ControlLink
from runtime.java.host.host import JavaClass
from runtime.java.host.install import compile_sources
from runtime.java.host.link import MAX_FRAME, Link, receive_frame
from runtime.java.plugins.source_task import JavaSourceTask
from runtime.java.wire import tags
from runtime.java.wire.reader import MAX_COLUMN, FrameReader, SchemaReader
from runtime.logs.formats import MAX_RAW_LINE
from tests.support.java.host import own_host, settings
from tests.support.tasks.task_contexts import TaskSourceContext
from tests.support.waiting import wait_until

HUGE = 0xFFFFFFF0.to_bytes(4, "little")  # the length of a frame of 4 GB


def test_a_frame_of_gigabytes_closes_its_link() -> None:
    """A slot that reserved what the length claims would wait for the bytes, and its tasks with it."""
    near, jvm = socket.socketpair()
    link = Link(near, 1, lambda: "The JVM has ended")
    calls: list[BaseException] = []

    def call() -> None:
        try:
            link.call("poll")
        except BaseException as error:
            calls.append(error)

    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    jvm.sendall(HUGE)
    caller.join(30)
    assert isinstance(calls[0], InvalidFrameError)
    assert str(calls[0]) == f"The task host JVM has sent a frame of 4,294,967,280 bytes; {MAX_FRAME:,} are allowed"
    with pytest.raises(HostLostError, match="The JVM has ended"):
        link.call("stop")  # nothing that follows is taken for a frame
    jvm.settimeout(30)
    while jvm.recv(4096):  # the call, then the end
        pass
    jvm.close()


def test_a_frame_of_gigabytes_on_the_control_link_ends_the_jvm(caplog: pytest.LogCaptureFixture) -> None:
    near, jvm = socket.socketpair()
    jvm.settimeout(30)
    link = ControlLink(near, ClassNames(), {})
    receive_frame(jvm, str)
    jvm.sendall(HUGE)
    assert jvm.recv(1) == b""
    wait_until(lambda: link._ended, 10)
    assert f"a frame of 4,294,967,280 bytes; {MAX_FRAME:,} are allowed, and is terminated" in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    "frame",
    [
        bytes([tags.ARRAY]) + struct.pack("<i", 1 << 30) + bytes([tags.NULLS]),
        bytes([tags.MAP]) + struct.pack("<i", 1 << 30) + bytes([tags.NULLS, tags.NULLS]),
        bytes([tags.ARRAY]) + struct.pack("<i", -5) + bytes([tags.NULLS]),
    ],
    ids=["array", "map", "negative"],
)
def test_a_few_bytes_describe_no_column_that_fills_the_memory(frame: bytes) -> None:
    """An array of a thousand million nulls takes 8 GB in the slot, and six bytes on the link."""
    with pytest.raises(ValueError, match=f"longer than the {MAX_COLUMN:,} allowed"):
        FrameReader(frame, SchemaReader()).value()


_LARGE = {
    "large/LargeSource.java": """
package large;

import java.util.*;
import org.apache.kafka.connect.source.*;

/** Returns a record of 270 MB, then others; logs a line of 10 MB. */
public class LargeSource extends SourceTask {
    private int polls;

    public String version() { return "1"; }
    public void start(Map config) { }
    public void stop() { }
    public List poll() {
        if (polls == 1) {
            org.slf4j.LoggerFactory.getLogger("large").warn(new String(new char[10000000]));
        }
        byte[] value = new byte[polls++ == 0 ? 270000000 : 3];
        Map at = Collections.singletonMap("at", "x");
        return Collections.singletonList(new SourceRecord(at, at, "t", null, null, value));
    }
}
""",
}


@pytest.mark.slow
def test_a_batch_beyond_the_limit_fails_its_task_with_the_remedy_and_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = settings()
    folder = str(compile_sources(given.java, given.classpath, _LARGE, tmp_path))
    with own_host(replace(given, heap_mb=400)) as host:
        task = JavaSourceTask(host, JavaClass("large.LargeSource", folder, [f"{folder}/"]))
        task.context = TaskSourceContext()
        task.start({})
        with pytest.raises(ConnectError, match="larger than 256 MiB: configure the connector to return fewer"):
            task.poll()
        records = task.poll()
        assert records is not None and [record.value for record in records] == [b"\0\0\0"]
        wait_until(lambda: any(record.name == "large" for record in caplog.records), 30)  # on the control link
        assert [len(record.getMessage()) for record in caplog.records if record.name == "large"] == [MAX_RAW_LINE]
        task.stop()

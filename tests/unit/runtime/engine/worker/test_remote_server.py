"""The TLS port for slots on other machines, with real connections on loopback."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.engine.placement.remote_lease import GRACE
from runtime.engine.protocol.channel import encode
from runtime.engine.protocol.remote import Attempt, SlotCaller
from runtime.engine.slot.remote import SlotArchives
from runtime.engine.worker.archives import WorkerArchives
from runtime.engine.worker.remote_server import MAX_STRANGERS_OF_PEER, RemoteServer
from runtime.model.environment import Environment
from runtime.system import frames
from runtime.system.tls_socket import PinError, TlsSocket
from tests.support.engine.engine_recorder import task_spec
from tests.support.engine.slot_port import KEY, Port, opened_port, read
from tests.support.waiting import until, wait_until


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[Port]:
    async with opened_port(tmp_path) as port:
        yield port


async def test_a_port_that_is_in_use_is_an_error(port: Port, tmp_path: Path) -> None:
    archives = WorkerArchives(tmp_path / "archives")
    second = RemoteServer(port.listener, time.monotonic, KEY, archives, lambda generation: tmp_path / "session.sock")
    with pytest.raises(OSError):
        await second.start("127.0.0.1", "127.0.0.1", port.access.port, tmp_path)
    await second.close()


async def test_a_slot_and_the_worker_exchange_messages_of_any_size(port: Port) -> None:
    connection = await port.slot()
    link = port.listener.up[0]
    assert (link.slot, link.attempt, link.process.pid, link.is_remote) == (0, 1, 4711, True)
    big = {"op": "log", "level": "INFO", "logger": "x", "message": "ü" * 2_000_000, "context": ""}
    await asyncio.to_thread(connection.sendall, encode(big))
    await until(lambda: port.listener.messages)
    assert port.listener.messages == [big]
    link.send({"op": "drain", "reason": "r" * 3_000_000})
    assert len((await read(connection))["reason"]) == 3_000_000
    assert not connection.closed
    link.writer.close()
    await until(lambda: connection.closed)
    assert await read(connection) is None
    await until(lambda: port.listener.down)
    connection.close()


async def test_another_certificate_is_refused_before_the_token_is_sent(port: Port) -> None:
    other = replace(port.access, fingerprint="00" * 32)
    with pytest.raises(PinError):
        await asyncio.to_thread(replace(port.caller(), access=other).connect, "slot")


@pytest.mark.parametrize(
    "change",
    [
        lambda caller: replace(caller, token="00" * 32),
        lambda caller: replace(caller, token="ü"),
        lambda caller: replace(caller, attempt=Attempt(1, 0, 2)),
        lambda caller: replace(caller, attempt=Attempt(2, 0, 1)),
        lambda caller: replace(caller, attempt=Attempt(1, 7, 1)),
    ],
)
async def test_a_token_is_valid_for_its_own_attempt_only(
    port: Port, change: Callable[[SlotCaller], SlotCaller], caplog: pytest.LogCaptureFixture
) -> None:
    connection = await asyncio.to_thread(change(port.caller()).connect, "slot")
    assert await read(connection) is None
    assert not port.listener.up
    await until(lambda: "the token is not that of a slot of this worker" in caplog.text)
    assert port.caller().token not in caplog.text
    connection.close()


async def test_a_token_opens_one_channel(port: Port, caplog: pytest.LogCaptureFixture) -> None:
    first = await port.slot(attempt=2)
    for attempt in (1, 2):
        again = await asyncio.to_thread(port.caller(attempt).connect, "slot")
        assert await read(again) is None
    await until(lambda: caplog.text.count("has been used before") == 2)
    (await port.slot(attempt=3)).close()
    first.close()


async def test_a_slot_of_another_version_gets_the_reason(port: Port, caplog: pytest.LogCaptureFixture) -> None:
    connection = await asyncio.to_thread(replace(port.caller(), version=2).connect, "slot")
    assert await read(connection) == {
        "op": "refused",
        "reason": "the slot speaks version 2 of the worker's protocol, the worker version 1",
    }
    await until(lambda: "version 2 of the worker's protocol" in caplog.text)
    connection.close()


async def test_strangers_get_nothing(port: Port, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "asyncio")
    with socket.create_connection((port.access.host, port.access.port)) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        plain.settimeout(5)
        await asyncio.sleep(0)
        assert b"HTTP" not in await asyncio.to_thread(plain.recv, 100)
    for nonsense in (b"\0\0\0\2[]", b"\0\0\0\2{}", b"\xff" * 100):
        connection = TlsSocket(port.access.host, port.access.port, port.access.fingerprint, 5.0)
        connection.sendall(nonsense)
        assert await read(connection) is None
        connection.close()
    assert not port.listener.up
    (await port.slot()).close()


async def test_a_lease_is_promised_while_it_is_granted(port: Port) -> None:
    connection = await port.slot()
    lease = port.listener.up[0].cell
    assert lease is not None
    renewal = await asyncio.to_thread(port.caller().connect, "lease")

    async def renewed() -> float:
        await asyncio.to_thread(renewal.sendall, encode({"op": "renew"}))
        return float((await read(renewal))["seconds"])

    assert await renewed() == 0.0
    assert port.listener.up[0].free_from == 0.0
    deadline = time.monotonic() + 30
    lease.grant(deadline)
    assert 29 < await renewed() <= 30
    assert port.listener.up[0].free_from == deadline + GRACE
    lease.revoke()
    assert await renewed() == 0.0
    assert port.listener.up[0].free_from == deadline + GRACE
    connection.close()
    renewal.close()


async def test_leases_are_renewed_while_the_event_loop_is_busy(port: Port) -> None:
    connection = await port.slot()
    lease = port.listener.up[0].cell
    assert lease is not None
    lease.grant(time.monotonic() + 30)
    renewal = await asyncio.to_thread(port.caller().connect, "lease")
    renewal.sendall(encode({"op": "renew"}))
    assert frames.read(renewal.stream)[0]["seconds"] > 0  # type: ignore[index] # blocks this event loop
    renewal.close()
    connection.close()


async def test_further_connections_need_a_slot(port: Port, caplog: pytest.LogCaptureFixture) -> None:
    for kind in ("lease", "archive", "session"):
        connection = await asyncio.to_thread(port.caller().connect, kind)
        assert await read(connection) is None
        connection.close()
    await until(lambda: caplog.text.count("slot 0 is not connected") == 3)


async def test_plugins_reach_the_slot_and_are_unpacked_once(port: Port, tmp_path: Path) -> None:
    archives = port.archives
    plugins, environment, jar = tmp_path / "plugins", tmp_path / "env" / "site-packages", tmp_path / "java" / "x.jar"
    for file in (plugins / "a.py", plugins / "p" / "__init__.py", environment / "b.py", jar):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"NAME = {file.name!r}\n" * 1000)
    spec = replace(
        task_spec("x"),
        plugin_path=[str(plugins)],
        environment=Environment("e-1", (str(environment),)),
        task_class=f"java:x.Task@{jar}",
        targets={"key.converter": f"java:x.Key@{jar}", "transforms.a.type": "runtime.x:Y"},
    )
    digests = await archives.of(spec)
    assert digests == await archives.of(spec)
    connection = await port.slot()
    fetched: list[str] = []

    def connect() -> TlsSocket:
        fetched.append("archive")
        return port.caller().connect("archive")

    (tmp_path / "slot").mkdir()
    slots = SlotArchives(tmp_path / "slot", connect)
    found = await asyncio.to_thread(slots.localized, spec, digests)
    assert found == await asyncio.to_thread(slots.localized, spec, digests)
    assert len(fetched) == 3
    assert found.environment is not None
    for here, there in [(found.plugin_path[0], plugins), (found.environment.folders[0], environment)]:
        assert here.startswith(str(tmp_path / "slot"))
        names = [file.relative_to(there) for file in there.rglob("*.py")]
        assert all((Path(here) / name).read_bytes() == (there / name).read_bytes() for name in names)
    java, _, location = found.task_class.partition("@")
    assert java == "java:x.Task" and found.targets["key.converter"] == f"java:x.Key@{location}"
    assert (tmp_path / location).read_bytes() == jar.read_bytes()
    assert found.targets["transforms.a.type"] == "runtime.x:Y"
    connection.close()


async def test_a_changed_plugin_is_another_archive(port: Port, tmp_path: Path) -> None:
    archives = port.archives
    (tmp_path / "plugins").mkdir()
    module = tmp_path / "plugins" / "a.py"
    module.write_text("A = 1\n")
    spec = replace(task_spec("x"), plugin_path=[str(tmp_path / "plugins")])
    before = await archives.of(spec)
    module.write_text("A = 22\n")
    os.utime(module, (1, 1))
    after = await archives.of(spec)
    assert before != after
    file = archives.file(after[str(tmp_path / "plugins")])
    assert file is not None
    assert hashlib.sha256(file.read_bytes()).hexdigest() == after[str(tmp_path / "plugins")]
    assert archives.file("../secret") is None


@pytest.fixture
def oddly_named(tmp_path: Path) -> Path:
    """A folder with a file whose name is not UTF-8."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/\xe9.txt")).touch()
    return folder


async def test_a_plugin_that_cannot_be_archived_fails_with_the_remedy(port: Port, oddly_named: Path) -> None:
    """With an error that fails the task, which would otherwise wait for its archives forever."""
    with pytest.raises(OSError, match=r"udce9\.txt' is not UTF-8: rename or remove the file"):
        await port.archives.of(replace(task_spec("x"), plugin_path=[str(oddly_named)]))


async def test_a_connection_for_a_download_ends_with_anything_that_is_sent_after_the_request(port: Port) -> None:
    """The worker does not keep it."""
    await port.slot()
    connection = await asyncio.to_thread(port.caller().connect, "archive")
    connection.sendall(encode({"op": "fetch", "digest": "0"}))
    assert await read(connection) == {}
    connection.settimeout(30)
    connection.sendall(b"more")
    assert await read(connection) is None


async def test_old_archives_are_removed_unless_a_task_may_need_them(tmp_path: Path) -> None:
    in_use: list[str] = []
    archives = WorkerArchives(tmp_path / "archives", lambda: in_use)
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    made: list[str] = []
    for number in range(5):
        (plugins / "a.py").write_text("A" * number)
        made += (await archives.of(replace(task_spec("x"), plugin_path=[str(plugins)]))).values()
        in_use = made[1:2]
    assert [archives.file(digest) is not None for digest in made] == [False, True, False, True, True]


async def test_connections_that_are_not_authenticated_do_not_block_those_from_other_addresses(
    port: Port, caplog: pytest.LogCaptureFixture
) -> None:
    address = port.access.host, port.access.port
    idle = [socket.create_connection(address, 5, ("127.0.0.2", 0)) for _ in range(MAX_STRANGERS_OF_PEER)]
    try:
        with socket.create_connection(address, 5, ("127.0.0.2", 0)) as another:
            assert await asyncio.to_thread(another.recv, 100) == b""
        await until(lambda: "from 127.0.0.2 was refused: too many connections" in caplog.text)
        (await port.slot()).close()
    finally:
        for connection in idle:
            connection.close()


async def test_the_session_is_reached_through_the_worker(port: Port, tmp_path: Path) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.close()

    session = await asyncio.start_unix_server(echo, str(tmp_path / "session.sock"))
    connection = await port.slot()
    relayed = await asyncio.to_thread(port.caller().connect, "session")
    message = {"rows": "x" * 1_000_000}
    await asyncio.to_thread(relayed.sendall, frames.encode(message))
    assert await read(relayed) == message
    session.close()
    relayed.close()
    connection.close()


async def test_a_slot_holds_a_limited_number_of_connections(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Those beyond the limit are closed; closed ones count no more, and those of other slots never."""
    async with opened_port(tmp_path, most=3) as port:
        held = [await port.slot(), *[await asyncio.to_thread(port.caller().connect, "lease") for _ in range(2)]]
        beyond = await asyncio.to_thread(port.caller().connect, "lease")
        assert await read(beyond) is None
        await until(lambda: "slot 0 has 3 connections already" in caplog.text)
        (await port.slot(slot=1)).close()
        held.pop().close()

        def is_admitted() -> bool:
            renewal = port.caller().connect("lease")
            try:
                renewal.sendall(encode({"op": "renew"}))
                return frames.read(renewal.stream) is not None
            except OSError:  # reset, since the request was not read
                return False
            finally:
                renewal.close()

        await asyncio.to_thread(wait_until, is_admitted, 30)
        for connection in (*held, beyond):
            connection.close()

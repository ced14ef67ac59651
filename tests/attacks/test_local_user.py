"""Another user of the machine attacks the sockets of a worker and its children."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.engine.spark_client import RPC_FAILURE, gateway_command, open_blocks
from tests.support.processes import children, command_line, direct_children, is_slot
from tests.support.sockets import listening_addresses, listening_paths
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

pytestmark = pytest.mark.slow

NOBODY = 65534
CONNECTIONS = 20
"""To each port. Spark's daemon would fork a process of 33 MB for each."""


@pytest.fixture(scope="module")
def processes(our_connect: WorkerProcess) -> Mapping[int, str]:
    """The processes of a worker with slots: their command lines by pid."""
    wait_until(lambda: _has_slot(our_connect.pid), 60, "the worker has a slot")
    return {pid: command_line(pid) for pid in (our_connect.pid, *children(our_connect.pid))}


def test_only_rest_and_three_ports_of_each_jvm_of_spark_accept_connections_and_only_on_loopback(
    processes: Mapping[int, str], our_connect: WorkerProcess
) -> None:
    ports = {pid: addresses for pid in processes if (addresses := listening_addresses(pid))}
    assert all(ipaddress.ip_address(host).is_loopback for addresses in ports.values() for host, _ in addresses)
    jvms = ports.keys() - {our_connect.pid}
    assert jvms and all("PythonGatewayServer" in processes[jvm] for jvm in jvms)
    assert len(ports[our_connect.pid]) == 1 and {len(ports[jvm]) for jvm in jvms} == {3}


def test_connections_to_all_ports_fork_no_processes(processes: Mapping[int, str], our_connect: WorkerProcess) -> None:
    addresses = [address for pid in processes for address in listening_addresses(pid)]
    log = our_connect.log.read_text()
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(address)) for address in addresses * CONNECTIONS]
        for connection in opened[: len(addresses)]:
            connection.settimeout(0.5)
            with contextlib.suppress(TimeoutError):
                assert connection.recv(4) == b"", "a port answers before it has received anything"
        forked = {pid for pid in children(our_connect.pid) if is_slot(pid)} - processes.keys()
        assert len(forked) < CONNECTIONS / 2, "more than the slots that the worker starts itself"
    assert "Traceback" not in our_connect.log.read_text()[len(log) :]


def test_messages_to_sparks_ports_write_nothing_to_the_log(
    processes: Mapping[int, str], our_connect: WorkerProcess
) -> None:
    """Spark logs an error with a stack trace for each."""
    log, refused = our_connect.log.read_text(), 0
    (jvm,) = {pid for pid in processes if listening_addresses(pid)} - {our_connect.pid}
    for _, port in listening_addresses(jvm):
        if b"Authentication error" not in gateway_command(port):  # Py4J's
            refused += open_blocks(port, "broadcast_0_piece0")[0] == RPC_FAILURE
    assert refused == 2
    time.sleep(0.5)  # nothing tells that all lines have been read
    assert "SaslMessage" not in our_connect.log.read_text()[len(log) :]


def test_no_socket_is_in_a_folder_that_others_may_enter(processes: Mapping[int, str]) -> None:
    paths = {path for pid in processes for path in listening_paths(pid)}
    assert any(path.name == "slots.sock" for path in paths)
    assert len([path for path in paths if path.name.startswith(".")]) == 1, "the socket of Spark's daemon"
    assert all(any(_is_private(folder) for folder in path.parents) for path in paths)


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs root, to act as another user")
def test_another_user_cannot_connect_to_any_socket(processes: Mapping[int, str]) -> None:
    paths = [str(path) for pid in processes for path in listening_paths(pid)]
    program = "import socket, sys\nfor path in sys.argv[1:]:\n  try: socket.socket(socket.AF_UNIX).connect(path)\n"
    program += "  except PermissionError: continue\n  sys.exit(path)"
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    attack = subprocess.run([*user, sys.executable, "-c", program, *paths], cwd="/", capture_output=True, text=True)
    assert attack.returncode == 0, f"reached {attack.stderr}"


def test_no_python_process_imports_from_the_current_folder(processes: Mapping[int, str]) -> None:
    """Another user may have put a `random.py` into the folder in which the worker was started."""
    started = {pid: line for pid, line in processes.items() if "python" in line.split(" ", 1)[0] and "runtime" in line}
    unsafe = [line for pid, line in started.items() if " -P " not in line and not _has_safe_path(pid)]
    assert len(started) > 3, "plugin host, driver, daemon and slots"
    assert unsafe == [line for line in started.values() if "worker distributed" in line], "the tests start the worker"


def _has_safe_path(pid: int) -> bool:
    return b"PYTHONSAFEPATH=1" in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")


def _has_slot(worker: int) -> bool:
    """Whether Spark's daemon has forked a slot."""
    daemons = [pid for pid in children(worker) if "runtime.engine.driver.daemon" in command_line(pid)]
    return any(is_slot(child) for pid in daemons for child in direct_children(pid))


def _is_private(folder: Path) -> bool:
    status = folder.stat()
    return status.st_uid == os.getuid() and status.st_mode & 0o077 == 0

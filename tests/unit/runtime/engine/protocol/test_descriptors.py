"""Limits of file descriptors."""

from __future__ import annotations

import subprocess
import sys

from runtime.engine.protocol.descriptors import room

PROGRAM = """
import os, resource
from runtime.engine.protocol.descriptors import NoRoomError, check_room, raise_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 256))
raise_limit()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
check_room()
taken = [os.dup(0) for _ in range(230)]
try:
    check_room()
except NoRoomError as error:
    print(error)
"""


CLIENTS = """
import resource, sys
from confluent_kafka import Producer
from runtime.engine.protocol.descriptors import _OF_CONSUMER, room
resource.setrlimit(resource.RLIMIT_NOFILE, [resource.getrlimit(resource.RLIMIT_NOFILE)[1]] * 2)
clients = [Producer({"bootstrap.servers": ""}) for _ in range(int(sys.argv[1]) // _OF_CONSUMER)]
for client in clients:
    client.poll(0)
print(len(clients))
"""


def test_a_full_slot_can_have_the_clients_of_its_tasks() -> None:
    """The number of clients of a process is limited, also where that of descriptors is not."""
    command = [sys.executable, "-c", CLIENTS, str(room(which=1))]
    assert int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) <= 900


def test_the_limit_is_raised_and_a_shortage_is_reported() -> None:
    output = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    first, second = output.splitlines()
    assert first == "(256, 256)"
    assert "of at most 256 file descriptors open" in second

"""Kafka clients never write to the terminal, whatever the context's settings, until the process ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
from tui.errors import HeadraceError
from tui.{module} import *
try:
    {call}
except HeadraceError as error:
    print(error)
"""
SETTINGS = '{"bootstrap.servers": "127.0.0.1:1", "debug": "all"}'


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("offsets.brokers", f'Brokers("127.0.0.1:1", {SETTINGS}, 0.5).partitions(lambda topic: True)'),
        ("dead_letters.brokers", f'DeadLetterTopic("dlq", {SETTINGS}).newest(1)'),
    ],
)
def test_nothing_is_printed(module: str, call: str) -> None:
    code = CODE.format(module=module, call=call)
    if "dead_letters" in module:
        code = "import tui.topics.reader as reader; reader.RESPONSE_TIMEOUT = 0.5\n" + code
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == "" and done.returncode == 0
    assert "127.0.0.1:1" in done.stdout

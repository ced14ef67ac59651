"""The collector is off for a start, back after it, and left alone where nobody held it."""

from __future__ import annotations

import subprocess
import sys

HELD = """
import gc
from tui import gc_tuning as collector
before = gc.get_threshold()
collector.settle()
assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
collector.hold()
assert not gc.isenabled()
collector.settle()
assert gc.isenabled() and gc.get_freeze_count() and gc.get_threshold() == collector.THRESHOLDS
"""


def test_held_and_settled() -> None:
    subprocess.run([sys.executable, "-c", HELD], check=True, timeout=30)

"""Garbage collection is disabled for a start and enabled after it, but only if the start disabled it."""

from __future__ import annotations

import subprocess
import sys

START = """
import gc
from tui import gc_tuning
before, frozen = gc.get_threshold(), gc.get_freeze_count()  # Python 3.12 has frozen some at its start
gc_tuning.enable_after_start()
assert (gc.get_threshold(), gc.get_freeze_count()) == (before, frozen)
gc_tuning.disable_for_start()
assert not gc.isenabled()
gc_tuning.enable_after_start()
assert gc.isenabled() and gc.get_freeze_count() > frozen and gc.get_threshold() == gc_tuning.THRESHOLDS
"""


def test_collection_during_and_after_a_start() -> None:
    subprocess.run([sys.executable, "-c", START], check=True, timeout=30)

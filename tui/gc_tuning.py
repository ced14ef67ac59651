"""Tuning of the garbage collector: disabled during the start, afterwards with permanent objects frozen.

During the start, collections take a fifteenth of the time and find nothing. Later, a full collection with a thousand
connectors in memory would delay the response to a key.
"""

from __future__ import annotations

import gc

START_DURATION = 3.0  # seconds after the first paint, when modules, styles and the first list are loaded
THRESHOLDS = (2_000, 10, 10)  # a response with 1,000 connectors creates 15,000 objects, most without cycles
SCRIPT_THRESHOLD = 100_000  # objects that a script line may create before a collection


def disable_for_start() -> None:
    """Disables collection; call at the start of the screen's process."""
    gc.disable()


def enable_after_start() -> None:
    """Freezes the existing objects and enables collection again, if `disable_for_start` disabled it."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(*THRESHOLDS)
        gc.enable()


def tune_for_script() -> None:
    """Lets most script lines end without a collection; a long `get events` still gets some."""
    gc.set_threshold(SCRIPT_THRESHOLD)

"""Python's collector of cycles, out of the way of who waits: off until the screen stands, then past what stays.

Looking through all that a start makes costs a fifteenth of it and finds nothing; and a full look later on, with a
thousand connectors in memory, would come between a key and its answer.
"""

from __future__ import annotations

import gc

SETTLED = 3.0  # seconds after the first paint: modules, styles and the first list are there
THRESHOLDS = (2_000, 10, 10)  # an answer with 1,000 connectors makes 15,000 objects, and drops most by itself
SHORT_LIVED = 100_000  # what a script line may make before anybody looks


def hold() -> None:
    """At the start of the screen's process."""
    gc.disable()


def settle() -> None:
    """Collects again, but not what is there already. Nothing where nobody held it: this process may not be ours."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(*THRESHOLDS)
        gc.enable()


def for_a_script() -> None:
    """Most script lines end before a look is worth it; an endless `get events` still gets its looks."""
    gc.set_threshold(SHORT_LIVED)

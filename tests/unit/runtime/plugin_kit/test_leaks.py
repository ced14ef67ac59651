"""Which threads the check for leaks counts."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import pytest

from runtime.plugin_kit.conformance.leaks import check_leaks
from runtime.plugin_kit.conformance.outcome import CheckFailed


@pytest.mark.parametrize(
    ("name", "every", "fails"), [("asyncio_7", 3, False), ("asyncio_7", 1, True), ("worker", 3, True)]
)
def test_a_thread_of_another_event_loop_is_not_that_of_the_plugin(name: str, every: int, fails: bool) -> None:
    """`every`: after how many runs one more thread is left."""
    end, runs = threading.Event(), 0

    def run() -> None:
        nonlocal runs
        runs += 1
        if runs > 1 and runs % every == 0:
            threading.Thread(target=end.wait, name=name, daemon=True).start()

    try:
        with pytest.raises(CheckFailed, match=f"thread '{name}'") if fails else nullcontext():
            check_leaks(run)
    finally:
        end.set()

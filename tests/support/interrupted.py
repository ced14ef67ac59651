"""Runs code inside other code on the same thread, at each of its lines, as the garbage collector may."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


def runs_inside(code: Callable[[], object], function: Callable[..., object], call: Callable[[], object]) -> bool:
    """Whether `call` ends within ten seconds although `code` runs before each line of `function` that it executes."""

    def at_line(frame: FrameType, event: str, argument: Any) -> Any:
        code()
        return at_line

    def at_call(frame: FrameType, event: str, argument: Any) -> Any:
        return at_line if frame.f_code is function.__code__ else None

    def run() -> None:
        sys.settrace(at_call)
        call()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    return not thread.is_alive()

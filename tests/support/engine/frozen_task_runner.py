"""A task runner whose first slot stops itself (SIGSTOP) before it connects. HEADRACE_TEST_FROZEN names a file that then
contains the pid. Runs in slots."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from tests.support.engine.scripted_task_runner import ScriptedRunner


def __getattr__(name: str) -> Any:
    """The slot looks the class up just before it connects."""
    if name != "Runner":
        raise AttributeError(name)
    try:
        with Path(os.environ["HEADRACE_TEST_FROZEN"]).open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return ScriptedRunner
    os.kill(os.getpid(), signal.SIGSTOP)
    return ScriptedRunner

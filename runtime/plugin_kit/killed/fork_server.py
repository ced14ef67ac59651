"""The parent of the child processes: imports the pipeline once, then forks a process for each task.

A fork needs milliseconds, a new interpreter with the pipeline half a second of processor time, and the check `kill`
runs three tasks. The server imports no plugin and has one thread; it runs one task at a time. Input: a line of JSON for
each task. Output, around the lines of the task: `STARTED pid`, and `ENDED code` when the process has ended."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from typing import Any

import confluent_kafka
import confluent_kafka.admin  # noqa: F401 - for the tasks

from runtime.engine.protocol.task_specs import spec_from_json
from runtime.plugin_kit.killed.child import run_task, say


def main() -> None:
    """Serves until standard input ends."""
    # SIGINT of a terminal goes to all its processes; the process that asked for a task ends it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while request := sys.stdin.readline():
        if (pid := os.fork()) == 0:
            _child(json.loads(request))
        _, status = os.waitpid(pid, 0)
        # the first line break ends a line that the process could not finish
        say(f"\nENDED {os.waitstatus_to_exitcode(status)}")


def _child(request: dict[str, Any]) -> None:
    """Runs the task; never returns. The task finds what the requesting process finds, such as the plugin's project."""
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the server reads its requests there
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.path[:] = request["path"]
        say(f"STARTED {os.getpid()}")
        code = run_task(spec_from_json(request["spec"]), request["records"])
    except BaseException:  # nothing may return into the server's loop
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

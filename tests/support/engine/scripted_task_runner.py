"""A task runner for tests of the engine, which behaves as the task's config says. Runs in slots."""

from __future__ import annotations

import importlib
import logging
import os
import re
import signal
import threading
import time
from pathlib import Path

from runtime.model.rate_limit import RateLimit
from runtime.model.states import State
from runtime.model.task_spec import TaskSpec
from runtime.pipeline.port import SlotHost
from runtime.pipeline.task.control import PluginCall
from runtime.pipeline.task.failure import RevokedError


class ScriptedRunner:
    """`behaviour`: idle, end, fail, lose (returns its assignment), exit, talk, flood, hog (holds the GIL), deaf
    (ignores stop), hang (in stop), library (reports the version of hr_lib as a topic), leak (ignores revoke, too),
    stick (in poll, until paused), threads (as if no more could be started), grow (to 400 MB), kill (its process,
    on request), kill_group (its process group, on request)."""

    def __init__(self, spec: TaskSpec, host: SlotHost) -> None:
        self._spec = spec
        self._host = host
        self._wake = threading.Event()
        self._stop = self._revoked = False
        self._call: PluginCall | None = None
        self._behaviour = spec.config.get("behaviour", "idle")

    @property
    def call(self) -> PluginCall | None:
        return self._call

    @property
    def meter(self) -> None:
        """This runner has no meter."""

    @property
    def errors(self) -> None:
        return None

    def run(self) -> None:
        if member := self._spec.config.get("member"):
            self._host.member(self._spec, member)
        self._host.state(self._spec, State.PAUSED if self._spec.paused else State.RUNNING)
        getattr(self, f"_{self._behaviour}")()

    def stop(self) -> None:
        if self._behaviour == "hang":
            threading.Event().wait()
        self._stop = self._behaviour not in ("deaf", "leak")
        self._wake.set()

    def pause(self, paused: bool) -> None:
        if self._behaviour == "stick":
            self._call = None
        self._host.state(self._spec, State.PAUSED if paused else State.RUNNING)

    def limit(self, limit: RateLimit) -> None:
        """No test asks for this."""

    def move(self, reason: str) -> None:
        self._host.state(self._spec, State.UNASSIGNED, reason)
        self.stop()

    def reset_topics(self, at: int) -> None:
        self._host.topic(self._spec, "topic-of-it")

    def revoke(self) -> None:
        self._revoked = True
        self._wake.set()

    def _idle(self) -> None:
        while not (self._stop or self._revoked):
            try:
                self._host.check_lease()
            except RevokedError:
                return
            self._wake.wait(0.1)

    _deaf = _hang = _idle

    def _library(self) -> None:
        self._host.topic(self._spec, str(importlib.import_module("hr_lib").VERSION))
        self._idle()

    def _stick(self) -> None:
        self._call = PluginCall("poll", time.monotonic())
        self._poll_that_never_returns()

    def _poll_that_never_returns(self) -> None:
        self._idle()

    def _threads(self) -> None:
        threading.stack_size(1 << 46)  # bytes of a stack, for which no machine has room
        self._host.topic(self._spec, "topic-of-it")
        self._idle()

    def _leak(self) -> None:
        threading.Event().wait()

    def _fail(self) -> None:
        raise ValueError("the task has failed as configured")

    def _lose(self) -> None:
        self._host.state(self._spec, State.UNASSIGNED, "its producer failed")

    def _exit(self) -> None:
        raise SystemExit(3)

    def _end(self) -> None:
        """Returns at once."""

    def _talk(self) -> None:
        logging.getLogger("plugin").info("hello from a plugin")
        self._host.topic(self._spec, "topic-of-it")
        self._idle()

    def _flood(self) -> None:
        for number in range(200_000):
            self._host.log("INFO", "plugin", f"line {number}", "")
        self._idle()

    def _grow(self) -> None:
        kept = b"x" * (400 << 20)
        self._idle()
        assert kept

    def _kill(self) -> None:
        while not Path(self._spec.config["when"]).exists():
            self._wake.wait(0.02)
        os.kill(os.getpid(), signal.SIGKILL)

    def _kill_group(self) -> None:
        while not Path(self._spec.config["when"]).exists():
            self._wake.wait(0.02)
        os.killpg(0, signal.SIGKILL)

    def _hog(self) -> None:
        re.match(r"(a+)+$", "a" * 60 + "b")

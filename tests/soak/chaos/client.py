"""A client of a group under faults, which repeats each request until it is answered as expected."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from http.client import HTTPException
from typing import Any

from tests.support.clusters.worker_group import WorkerGroup, is_transient
from tests.support.connect import Connect

PATIENCE = 120.0
"""Seconds within which every change must succeed, and everything must run as requested after the last fault."""


class PatientConnect(Connect):
    """Asks living workers at random. `refusals` counts the answers after which a request was repeated."""

    def __init__(self, group: WorkerGroup, chance: random.Random, refusals: Counter[str]) -> None:
        self._group, self._chance, self._refusals = group, chance, refusals

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The answer of one worker; status 0 without any."""
        living = self._group.living
        if not living:
            return 0, "no worker"
        try:
            return self._chance.choice(living).request(method, path, body)
        except (OSError, HTTPException) as error:
            return 0, type(getattr(error, "reason", error)).__name__

    def until(self, method: str, path: str, body: Any = None, also: tuple[int, ...] = ()) -> Any:
        """Repeats the request until its status is below 300 or one of `also`; the body of that answer."""
        deadline = time.monotonic() + PATIENCE
        while True:
            status, answer = self.request(method, path, body)
            if 200 <= status < 300 or (status in also and not is_transient(status, answer)):
                return answer
            if time.monotonic() > deadline:
                raise AssertionError(f"{method} {path}: not done within {PATIENCE:.0f} s: {status} {answer}")
            self._refusals[f"{method} {_kind(path)}: {status} {_text(answer)}"] += 1
            time.sleep(0.3)


def _kind(path: str) -> str:
    return re.sub(r"/connectors/[^/?]+", "/connectors/…", path)


def _text(answer: Any) -> str:
    text = str(answer.get("message", answer) if isinstance(answer, dict) else answer)
    return re.sub(r"\d{4,}|[\w-]*-[0-9a-f]{8}", "…", text)[:120]

"""The way from Apache's workers to Headrace's and back, by the version of Apache's."""

from __future__ import annotations

from runtime.config.worker_config import WorkerConfig

_ROLLING = (4, 0)
"""Headrace's workers share a group with Apache's from Connect 4.0 on (`headrace.mixed.group`)."""


def steps(release: tuple[int, int], file: str, config: WorkerConfig) -> list[str]:
    """The steps in order, those back last."""
    return _rolling(file) if release >= _ROLLING else _with_a_stop(file, config)


def _rolling(file: str) -> list[str]:
    return [
        "Without a stop, since Connect 4.x and Headrace can share a group:",
        "1. set scheduled.rebalance.max.delay.ms=0 on Apache's workers, one after another",
        f"2. add headrace.mixed.group=true to {file}; on each new machine: headrace worker distributed {file}",
        "3. wait until GET /health is 200 and all connectors RUNNING, then stop Apache's workers one after another",
        "4. remove headrace.mixed.group, and restart the Headrace workers one after another",
        "back: the same with the roles exchanged",
    ]


def _with_a_stop(file: str, config: WorkerConfig) -> list[str]:
    return [
        "With a stop, since Connect before 4.0 cannot share a group with Headrace. Nothing is copied: the topics stay.",
        f"1. install Headrace on each machine, and run: headrace doctor --config {file}",
        f"2. stop all Apache workers of the group {config.group_id} with SIGTERM",
        f"3. headrace offsets --config {file} --export before.json",
        f"4. on each machine: headrace worker distributed {file}",
        "5. wait until GET /health is 200 and all connectors RUNNING; no offset is behind before.json:",
        "   headrace URL -c 'export offsets -f after.json'",
        "back: stop all Headrace workers with SIGTERM, then start Apache's with their own file; they ignore the topic "
        f"{config.journal_topic}",
    ]

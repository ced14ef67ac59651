"""Random kills under load, with the losses and recovery times."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.rig import VICTIMS, Rig


@dataclass(slots=True)
class Account:
    """The result of a run."""

    seconds: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    recoveries: dict[str, list[float]] = field(default_factory=dict)  # seconds until everything was RUNNING again
    lines: int = 0
    missing: int = 0
    doubled: int = 0
    failed: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not (self.missing or self.orphans or self.failed)

    def table(self) -> str:
        rows = [
            f"| {victim} | {self.kills[victim]} | {sum(times) / len(times):.1f} | {max(times):.1f} |"
            for victim, times in self.recoveries.items()
        ]
        return "\n".join(
            [
                f"{sum(self.kills.values())} kills in {self.seconds:.0f} s under load: {self.lines:,} lines written, "
                f"{self.missing:,} missing, {self.doubled:,} delivered more than once, {len(self.orphans)} orphans.",
                "",
                "| killed | times | all RUNNING again after (mean, s) | (longest, s) |",
                "| --- | ---: | ---: | ---: |",
                *rows,
            ]
        )


def soak(folder: Path, seconds: float, seed: int) -> Account:
    """Kills random processes for a time, sometimes before the last one has recovered, and checks the result."""
    chance, account, rig = random.Random(seed), Account(), Rig(folder)
    try:
        rig.feeder.start()
        started = time.monotonic()
        bag: list[str] = []
        while time.monotonic() - started < seconds or len(account.kills) < len(VICTIMS):
            if not bag:  # every process gets a turn
                bag = chance.sample(VICTIMS, len(VICTIMS))
            _kill(rig, bag.pop(), account, chance)
        account.seconds = time.monotonic() - started
        rig.feeder.stop()
        rig.wait_running()
        rig.wait_delivered()
        _count(rig, account)
    finally:
        rig.feeder.stop() if rig.feeder.written else None
        account.orphans = rig.stop()
    return account


def _kill(rig: Rig, victim: str, account: Account, chance: random.Random) -> None:
    killed = time.monotonic()
    rig.kill(victim)
    account.kills[victim] += 1
    if chance.random() < 0.2:  # the next kill hits before this one has recovered
        time.sleep(chance.uniform(0.1, 2.0))
        return
    _until_seen_down_or_up(rig)
    rig.wait_running()
    took = time.monotonic() - killed
    account.recoveries.setdefault(victim, []).append(took)
    print(f"{victim:12} all RUNNING again after {took:5.1f} s", flush=True)
    time.sleep(chance.uniform(0.5, 2.0))


def _until_seen_down_or_up(rig: Rig) -> None:
    """Waits a moment: until the worker notices the kill, it reports the previous states."""
    time.sleep(1.0)


def _count(rig: Rig, account: Account) -> None:
    for pipeline in rig.pipelines:
        found = Counter(pipeline.delivered())
        account.lines += rig.feeder.written
        account.missing += rig.feeder.written - len(found)
        account.doubled += sum(found.values()) - len(found)
    for name in rig.names:
        states = rig.connect.states(name)
        if "FAILED" in (states[0], *states[1]):
            account.failed.append(name)

"""Schemathesis and hostile raw requests against one worker, while /health is probed.

`python -m tests.soak.fuzz [--seconds 600] [--seed N]`

A run succeeds if no request is answered with 5xx, the worker survives, its memory does not grow, and /health is fast.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import random
import re
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.soak.http_fuzzer import Answers, fuzz
from tests.support.broker import EmbeddedBroker
from tests.support.clusters import rest
from tests.support.clusters.api_fuzzing import STATELESS_CHECKS, run_schemathesis
from tests.support.workers import WorkerProcess, our_worker

CLIENTS = 4  # threads that send raw requests
PROBE_EVERY = 0.2  # seconds
USUAL_LIMIT, LONGEST_LIMIT = 1.0, 5.0  # seconds for 99 of 100 probes, and for all
GROWTH_LIMIT = 100.0  # MB, after the first quarter of the time
_TRACEBACK = re.compile(r"Traceback .*\n(?:[ \t].*\n)*.*")


@dataclass(slots=True)
class Outcome:
    """What a run has found. Times are in seconds, sizes in MB."""

    seconds: float
    answers: list[Answers] = field(default_factory=list)
    probes: list[float] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    growth: float = 0.0

    @property
    def sound(self) -> bool:
        return not self.trouble

    def check(self) -> None:
        """Adds the failed criteria to `trouble`."""
        for answers in self.answers:
            self.trouble += answers.server_errors[:5] + answers.leaks[:5]
            if answers.refused:
                self.trouble.append(f"{answers.refused} connections were refused")
        if not self.probes or self._usual() > USUAL_LIMIT or max(self.probes) > LONGEST_LIMIT:
            self.trouble.append("/health was slow")
        if self.growth > GROWTH_LIMIT:
            self.trouble.append("the worker's memory has grown")

    def summary(self) -> str:
        requests = sum(answers.requests for answers in self.answers)
        errors = sum(len(answers.server_errors) for answers in self.answers)
        longest = max(self.probes, default=0.0)
        return (
            f"{requests:,} hostile raw requests in {self.seconds:.0f} s, together with schemathesis: {errors} answers "
            f"with 5xx; /health within {self._usual() * 1000:.0f} ms (99 %), {longest * 1000:.0f} ms at most; memory "
            f"of the worker {self.growth:+.0f} MB after the first quarter."
        )

    def _usual(self) -> float:
        return statistics.quantiles(self.probes, n=100)[-1] if len(self.probes) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class Callers:
    """Who sends requests: a header for each, empty without a password. No answer or log line may have a secret."""

    headers: Sequence[str] = ("",)
    secrets: Sequence[str] = ()
    description: str = ""  # a file with /openapi.json
    checks: Sequence[str] = STATELESS_CHECKS


_ANYONE = Callers()


def fuzz_worker(folder: Path, seconds: float, seed: int) -> Outcome:
    """Starts a broker and a worker, and attacks the worker for the given time."""
    broker = EmbeddedBroker(folder / "broker")
    broker.start()
    properties = {"headrace.file.paths": str(folder), "headrace.slots": "1"}
    worker = our_worker(folder, broker.bootstrap, properties)
    try:
        worker.start()
        return attack(worker, folder, seconds, seed)
    finally:
        if worker.running():
            worker.stop(60)
        broker.stop()


def attack(
    worker: WorkerProcess, folder: Path, seconds: float, seed: int, callers: Callers = _ANYONE, probing_as: str = ""
) -> Outcome:
    """Attacks a running worker. `probing_as`: the header of probes."""
    outcome, started = Outcome(seconds), time.monotonic()
    until, over = started + seconds, threading.Event()
    where = urlsplit(worker.url)
    address = str(where.hostname), int(where.port or 0)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        probing = pool.submit(_probe, worker.url, outcome, over, probing_as)
        schemathesis = pool.submit(_run_schemathesis, worker.url, folder, until, seed, callers)
        headers = [callers.headers[n % len(callers.headers)].encode() for n in range(CLIENTS)]
        secrets = [secret.encode() for secret in callers.secrets]
        raw = [
            pool.submit(fuzz, address, until, random.Random(seed * 1000 + n), header, secrets)
            for n, header in enumerate(headers)
        ]
        time.sleep(seconds / 4)
        before = _memory(worker.pid)
        outcome.answers = [client.result() for client in raw]
        outcome.trouble += schemathesis.result()
        over.set()
        probing.result()
    if worker.running():
        outcome.growth = _memory(worker.pid) - before
    else:
        outcome.trouble.append("the worker has ended")
    log = worker.log.read_text(errors="replace")
    outcome.trouble += [f"a traceback in the worker's log: {trace}" for trace in _TRACEBACK.findall(log)[:3]]
    outcome.trouble += [f"the secret {secret} in the worker's log" for secret in callers.secrets if secret in log]
    outcome.check()
    return outcome


def _run_schemathesis(url: str, folder: Path, until: float, seed: int, callers: Callers) -> list[str]:
    """Runs with consecutive seeds, and one caller after another, until the time is over; returns the output of failed
    runs."""
    failed: list[str] = []
    each = (until - time.monotonic()) / len(callers.headers)
    while (left := until - time.monotonic()) > 5:
        header = callers.headers[seed % len(callers.headers)]
        limit = int(min(left, each))
        done = run_schemathesis(url, folder, limit, str(seed), callers.checks, callers.description, header)
        failed += [f"a secret in schemathesis' output: {secret}" for secret in callers.secrets if secret in done.stdout]
        if done.returncode:
            failed.append(f"schemathesis, seed {seed}: {done.stdout[-4000:]} {done.stderr[-1000:]}")
        seed += 1
    return failed


def _probe(url: str, outcome: Outcome, over: threading.Event, header: str) -> None:
    name, _, value = header.partition(": ")
    while not over.wait(PROBE_EVERY):
        started = time.monotonic()
        try:
            status = rest.request(f"{url}/health", timeout=LONGEST_LIMIT * 2, headers={name: value} if name else None)[
                0
            ]
        except OSError as e:
            outcome.trouble.append(f"/health: {e}")
            continue
        outcome.probes.append(time.monotonic() - started)
        if status != 200:
            outcome.trouble.append(f"/health: {status}")


def _memory(pid: int) -> float:
    """Resident memory in MB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="headrace-fuzz-") as folder:
        outcome = fuzz_worker(Path(folder), given.seconds, given.seed)
    print(outcome.summary(), *outcome.trouble, sep="\n")
    return 0 if outcome.sound else 1


if __name__ == "__main__":
    sys.exit(main())

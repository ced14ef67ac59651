"""make bench-console: performance of the console, as real processes in a real terminal with a stub worker.

    python -m tests.bench.console [--connectors 1000,10000] [--keys 150] [--runs 11]

writes docs/benchmarks-console.md. Run it on an idle machine; the page shows the load.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pexpect

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks-console.md"
HEADRACE = str(Path(sys.executable).parent / "headrace")
BARE = [sys.executable, "-m", "tests.bench.console_bare"]
RIVAL = "kafka-connect-py"
BAR = "▌".encode()
# as for an installed program, whatever the developer's environment sets
BYTECODE = tempfile.TemporaryDirectory(prefix="headrace-bytecode-")
ENVIRON = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
ENVIRON["PYTHONPYCACHEPREFIX"] = BYTECODE.name
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the page; `least` is the goal as a number, for the verdict."""

    what: str
    case: str
    value: float
    unit: str
    goal: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        return "" if self.goal is None else "✓" if self.value <= self.goal else "✗"

    def line(self) -> str:
        digits = 0 if self.unit in ("ms", "MB") else 1 if self.unit == "%" else 3
        goal = "" if self.goal is None else f"≤ {self.goal:g} {self.unit}"
        measured = f"{self.value:.{digits}f} {self.unit}"
        return f"| {self.what} | {self.case} | {measured} | {goal} | {self.verdict} | {self.note} |"


@contextmanager
def stub(connectors: int, *, changes: int = 50, events: bool = False) -> Iterator[str]:
    words = [
        sys.executable,
        "-m",
        "tests.bench.console_stub",
        "--connectors",
        str(connectors),
        "--changes",
        str(changes),
    ]
    process = subprocess.Popen([*words, *(["--events"] if events else [])], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


@dataclass(slots=True)
class Screen:
    """The console in a terminal of 120×40, whose output is read as bytes, since an emulator would add time. Without a
    URL: the smallest Textual app."""

    url: str = ""
    process: pexpect.spawn[bytes] = field(init=False)
    began: float = field(init=False)
    seen: bytes = b""

    def __post_init__(self) -> None:
        environ = {**ENVIRON, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        self.began = time.perf_counter()
        command, *words = [HEADRACE, self.url] if self.url else BARE
        self.process = pexpect.spawn(command, words, env=environ, dimensions=(40, 120), timeout=60)
        self.process.delaybeforesend = None  # by default pexpect waits for 50 ms before each key

    def read(self, within: float) -> bytes:
        ready, _, _ = select.select([self.process.child_fd], [], [], within)
        return os.read(self.process.child_fd, 1 << 20) if ready else b""

    def until(self, found: Callable[[bytes], bool], within: float = 120.0) -> float:
        """Waits for the condition and returns the time at which it held."""
        self.seen, end = b"", time.perf_counter() + within
        while time.perf_counter() < end:
            self.seen += self.read(1.0)
            if found(self.seen):
                return time.perf_counter()
        raise SystemExit(f"timed out after {within:g} s; last output: {self.seen[-500:]!r}")

    def drain(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def processor(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> float:
        lines = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Rss:")) / 1024

    def close(self) -> None:
        self.process.close(force=True)


def starting(url: str, connectors: int, runs: int, case: str) -> list[Row]:
    """Seconds to the first paint, and from there until all connectors are on the screen."""
    paints, fills, bares = [], [], []
    for number in range(runs + 1):
        bare = Screen()
        least = bare.until(lambda seen: b"NAME" in seen) - bare.began
        bare.close()
        screen = Screen(url)
        painted = screen.until(lambda seen: b"NAME" in seen)
        filled = screen.until(lambda seen: f"{connectors:,} connectors".encode() in seen)
        if number:  # the first run compiles bytecode
            paints.append(painted - screen.began)
            fills.append(filled - painted)
            bares.append(least)
        screen.close()
    # includes the imports for the network, which come after the first paint
    note = "from the first paint to all of them listed, imports and the request included"
    return [
        Row(
            "first paint of an empty Textual table, alternating with the console", "none", statistics.median(bares), "s"
        ),
        Row("first paint", case, statistics.median(paints), "s", 0.4),
        Row(
            f"fill {connectors:,} connectors",
            case,
            statistics.median(fills),
            "s",
            0.5 if connectors <= 1000 else None,
            note,
        ),
        Row(
            "start to all connectors listed",
            case,
            statistics.median(map(sum, zip(paints, fills, strict=True))),
            "s",
            0.6 if connectors <= 1000 else None,
        ),
    ]


def keys(screen: Screen, presses: int, case: str) -> Row:
    """From a key to the bytes that show the cursor in another row, while connectors change."""
    screen.process.send("\x1b[B" * 12)  # away from the first row, where a key upwards shows nothing until the next poll
    screen.drain(1.0)
    chance, took = random.Random(11), []
    for number in range(presses):
        screen.drain(0.03 + chance.random() * 0.05)
        began = time.perf_counter()
        screen.process.send("\x1b[B" if number % 20 < 10 else "\x1b[A")
        took.append((screen.until(lambda seen: BAR in seen, 10.0) - began) * 1000)
    took.sort()
    at = took[int(len(took) * 0.95)]
    return Row(
        "key to screen, p95", case, at, "ms", 20, f"p50 {statistics.median(took):.0f} ms, worst {took[-1]:.0f} ms"
    )


def resting(screen: Screen, seconds: float) -> float:
    screen.drain(3.0)
    before = screen.processor()
    screen.drain(seconds)
    return (screen.processor() - before) / seconds * 100


def living(connectors: int, events: bool, presses: int, runs: int) -> Iterator[Row]:
    case = f"{connectors:,}, {'events' if events else 'polling'}"
    ours = connectors <= 1000
    with stub(connectors, events=events) as url:
        yield from starting(url, connectors, runs, case)
        screen = Screen(url)
        screen.until(lambda seen: f"{connectors:,} connectors".encode() in seen)
        screen.drain(2.0)
        yield keys(screen, presses, case)
        yield Row("processor with 50 changes/s", case, resting(screen, 10.0), "%")
        yield Row("resident memory", case, screen.memory(), "MB", 80 if ours else None)
        screen.close()
    with stub(connectors, changes=0, events=events) as url:
        screen = Screen(url)
        screen.until(lambda seen: f"{connectors:,} connectors".encode() in seen)
        yield Row("processor when idle", case, resting(screen, 15.0), "%", 3 if ours else None)
        screen.close()


def refreshing(connectors: int) -> Row:
    """The time that one refresh of the list blocks the event loop: the console in this process, polling a stub."""
    code = "from tests.bench.console_loop import main; main()"
    with stub(connectors) as url:
        done = subprocess.run(
            [sys.executable, "-c", code, url], capture_output=True, text=True, check=True, timeout=300, env=ENVIRON
        )
    median, worst = map(float, done.stdout.split())
    goal = 50 if connectors <= 1000 else None
    return Row(
        "event loop blocked by a refresh", f"{connectors:,}, polling", median, "ms", goal, f"worst {worst:.0f} ms"
    )


def commands(runs: int, connectors: int) -> Iterator[Row]:
    case = f"{connectors:,}"
    with stub(connectors, changes=0) as url:
        ours = _timed([HEADRACE, url, "-c", "get connectors"], runs)
        goal = 0.12 if connectors <= 1000 else None
        yield Row("`headrace -c 'get connectors'`, whole process", case, ours, "s", goal)
        with tempfile.TemporaryDirectory() as folder:
            program = rival(Path(folder))
            if isinstance(program, str):
                print(f"{RIVAL} is skipped: {program}", file=sys.stderr)
                return
            yield Row(
                f"`{RIVAL}`: its list of connectors", case, _timed([str(program), "--url", url, "list"], runs), "s"
            )


def rival(folder: Path) -> Path | str:
    """The path of the program in a scratch environment, or the reason why it cannot be installed."""
    made = subprocess.run([sys.executable, "-m", "venv", folder / "v"], capture_output=True, text=True, check=False)
    if made.returncode:
        return "no venv can be made"
    pip = [str(folder / "v" / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", RIVAL]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"it cannot be installed: {done.stderr.strip().splitlines()[-1:]}"
    found = shutil.which("kafka-connect", path=str(folder / "v" / "bin")) or shutil.which(
        "kc", path=str(folder / "v" / "bin")
    )
    return Path(found) if found else "it has no program"


def _timed(command: Sequence[str], runs: int) -> float:
    took = []
    subprocess.run(command, check=True, capture_output=True, timeout=60, env=ENVIRON)  # compiles bytecode
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, timeout=60, env=ENVIRON)
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def page(rows: Sequence[Row], runs: int, load: str) -> str:
    versions = f"Python {platform.python_version()}, Textual {version('textual')}, Headrace {version('headrace')}"
    lines = [
        "# Benchmarks of the console",
        "",
        "`make bench-console` writes this page. It measures real processes in a terminal of 120×40 with a stub",
        "worker whose connectors change 50 times a second. “Polling” is for Apache's workers, “events” for Headrace's.",
        "Programs are compiled to bytecode, as installed programs are. The time of a key ends with its output.",
        f"Short runs: medians of {runs}. Figures with other load on the machine are not reliable.",
        "",
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; {os.cpu_count()} cores, load average {load}; {versions}.",
        "",
        "| what | connectors | measured | goal | | |",
        "| --- | --- | ---: | --- | --- | --- |",
        *(row.line() for row in rows),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("--connectors", default="1000,10000")
    words.add_argument("--keys", type=int, default=150)
    words.add_argument("--runs", type=int, default=7)
    given = words.parse_args()
    before = f"{os.getloadavg()[0]:.1f} before"
    rows: list[Row] = []

    def add(some: Iterator[Row]) -> None:
        for row in some:
            print(f"{row.what:<48} {row.case:<18} {row.value:10.3f} {row.unit:<3} {row.verdict} {row.note}", flush=True)
            rows.append(row)

    for count in map(int, given.connectors.split(",")):
        add(commands(given.runs, count))
        add(iter([refreshing(count)]))
        for events in (False, True):
            add(living(count, events, given.keys, given.runs))
    PAGE.write_text(page(rows, given.runs, f"{before}, {os.getloadavg()[0]:.1f} after"), "utf-8")


if __name__ == "__main__":
    main()

"""python -m tests.simulation --seed N [--seeds COUNT] [--workers 3] [--faults kill,freeze] [--trace] [--shrink]"""

from __future__ import annotations

import argparse
import gc
import os
import pickle
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from tests.simulation import interposed
from tests.simulation.shrink import kind, shrink

if TYPE_CHECKING:
    from tests.simulation.run import Result

_T = TypeVar("_T")

_now = time.monotonic

BATCH = 20
"""Seeds that run in one process, after which its memory is given back."""

PROGRESS = 100
"""Seeds after which the number of violations so far is printed."""


class Simulate(Protocol):
    """Runs a seed, `only` with these requests and faults."""

    def __call__(self, seed: int, only: Sequence[str] | None = None) -> Result: ...


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.simulation", description="Simulates a group of workers.")
    options.add_argument("--seed", type=int, default=1, help="the first seed")
    options.add_argument("--seeds", type=int, default=1, help="how many seeds")
    options.add_argument("--workers", type=int, default=0, help="0: three to five, by the seed")
    options.add_argument("--faults", default="", help="kinds of faults, or none; default: all")
    options.add_argument("--trace", action="store_true", help="print every event")
    options.add_argument("--digest", action="store_true", help="print the digest of each run")
    options.add_argument("--only", default="", help="only these requests and faults, as --shrink prints them")
    options.add_argument("--shrink", action="store_true", help="search a failing run for one with fewer of them")
    options.add_argument("--mutation", default="", help="break the program in this way (tests/simulation/mutations.py)")
    options.add_argument("--stop", action="store_true", help="end with the first violation")
    given = options.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # sets of strings have the same order in each run
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.simulation", *sys.argv[1:]],
            os.environ | {"PYTHONHASHSEED": "0"},
        )
    interposed.install()
    return _run(given)


def _run(given: argparse.Namespace) -> int:
    from tests.simulation.coverage import Coverage
    from tests.simulation.faults import KINDS
    from tests.simulation.run import Settings, run

    kinds = KINDS if not given.faults else () if given.faults == "none" else tuple(given.faults.split(","))
    settings = Settings(given.workers, kinds, given.trace, only=given.only.split(",") if given.only else None)

    def simulate(seed: int, only: Sequence[str] | None = None) -> Result:
        return run(seed, settings if only is None else replace(settings, only=only))

    if given.mutation:
        from tests.simulation.mutations import MUTATIONS

        MUTATIONS[given.mutation]()
    gc.collect()
    gc.freeze()  # the program itself
    gc.disable()
    coverage, started, first, end, failed = Coverage(), _now(), given.seed, given.seed + given.seeds, 0
    while first < end and not (given.stop and failed):
        batch = range(first, min(first + BATCH, end))
        failures, counts = _forked(partial(_batch, batch, simulate, given))
        failed += failures
        for each in counts:
            coverage.add(each)
        first = batch.stop
        if (first - given.seed) % PROGRESS == 0 and first < end:
            print(f"{first - given.seed} seeds, {failed} with violations", flush=True)
    count, used = first - given.seed, resource.getrusage(resource.RUSAGE_CHILDREN)
    if given.seeds > 1:
        print(coverage.table())
        print(f"never: {', '.join(coverage.missing) or '-'}")
    cost = (used.ru_utime + used.ru_stime) / count
    print(f"{count} seeds, {failed} with violations, {_now() - started:.1f} s; processor time of each: {cost:.3f} s")
    return 1 if failed else 0


def _batch(seeds: Iterable[int], simulate: Simulate, given: argparse.Namespace) -> tuple[int, list[Mapping[str, int]]]:
    """Run seeds and print their violations. Returns how many have some, and what happened in each run."""
    failed, counts = 0, list[Mapping[str, int]]()
    for seed in seeds:
        result = simulate(seed)
        counts.append(result.counts)
        if given.digest:
            print(f"seed {seed}: {result.digest}")
        if result.violations:
            failed += 1
            if given.shrink:
                result = _shrunk(seed, result, simulate)
            if not given.trace and given.seeds == 1:
                print("\n".join(result.lines))
            print(f"seed {seed}: {len(result.violations)} violation(s); the first: {result.violations[0]}", flush=True)
            if given.stop:
                break
    return failed, counts


def _shrunk(seed: int, result: Result, simulate: Simulate) -> Result:
    """The result of a run with fewer requests and faults that violates the same invariant. Each attempt is made in a
    process of its own, as every batch is."""
    wanted = kind(result.violations[0])

    def violates(only: Sequence[str]) -> bool:
        return _forked(lambda: any(kind(v) == wanted for v in simulate(seed, only).violations))

    only = shrink(result.choices, violates)
    print(f"seed {seed}: {len(only)} of {len(result.choices)} requests and faults suffice: --only {','.join(only)}")
    return simulate(seed, only)


def _forked(work: Callable[[], _T]) -> _T:
    """The result of a function, which runs in a copy of this process. The copy ends without freeing anything: to
    collect the cycles of runs takes time, and would run the code of dead processes."""
    sys.stdout.flush()
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        code = 1
        try:
            with os.fdopen(write, "wb") as pipe:
                pickle.dump(work(), pipe)
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    if (code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])) != 0:
        raise SystemExit(f"The simulator failed: {code}")
    result: _T = pickle.loads(data)
    return result


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # the coroutines of dead processes are not ended, which would log errors

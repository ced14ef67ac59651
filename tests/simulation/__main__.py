"""python -m tests.simulation --seed N [--seeds COUNT] [--workers 3] [--faults kill,freeze] [--trace]"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
import time
import warnings

from tests.simulation import interposed

_now, _cpu = time.monotonic, time.process_time


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.simulation", description="Simulates a group of workers.")
    options.add_argument("--seed", type=int, default=1, help="the first seed")
    options.add_argument("--seeds", type=int, default=1, help="how many seeds")
    options.add_argument("--workers", type=int, default=3)
    options.add_argument("--faults", default="", help="kinds of faults, or none; default: all")
    options.add_argument("--trace", action="store_true", help="print every event")
    options.add_argument("--digest", action="store_true", help="print the digest of each run")
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
    from tests.simulation.faults import KINDS
    from tests.simulation.run import Settings, run

    if given.mutation:
        from tests.simulation.mutations import MUTATIONS

        MUTATIONS[given.mutation]()
    kinds = KINDS if not given.faults else () if given.faults == "none" else tuple(given.faults.split(","))
    settings = Settings(given.workers, kinds, given.trace)
    failed, started, used = 0, _now(), _cpu()
    gc.collect()
    gc.freeze()  # the program itself
    gc.disable()
    for seed in range(given.seed, given.seed + given.seeds):
        result = run(seed, settings)
        if given.digest:
            print(f"seed {seed}: {result.digest}")
        if result.violations:
            failed += 1
            if not given.trace and given.seeds == 1:
                print("\n".join(result.lines))
            print(f"seed {seed}: {len(result.violations)} violation(s); the first: {result.violations[0]}", flush=True)
            if given.stop:
                break
        del result
        if seed % 10 == 0:
            _collect()
    count = seed - given.seed + 1
    used = (_cpu() - used) / count
    print(f"{count} seeds, {failed} with violations, {_now() - started:.1f} s; processor time of each: {used:.3f} s")
    return 1 if failed else 0


def _collect() -> None:
    """Free the runs so far. The coroutines of dead processes end with errors, which mean nothing."""
    logging.disable()
    sys.unraisablehook = lambda _: None
    with warnings.catch_warnings(action="ignore"):
        gc.collect()
    sys.unraisablehook = sys.__unraisablehook__
    logging.disable(logging.NOTSET)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # the coroutines of dead processes are not ended, which would log errors

"""Runs of the simulation, each in a process of its own, since it replaces the interpreter's clocks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.simulation.shrink import kind, shrink

ROOT = Path(__file__).parents[2]

SEEDS = 150
"""Seeds of `make test`, in two processes; `make soak` runs SOAK_SEEDS."""

SOAK_SEEDS, MUTATION_SEEDS = 20_000, 2_000

MUTATIONS = {
    "task_configs_of_deleted_connectors": "compact,kill",
    "start_without_confirmation": "start",
    "earlier_tasks_are_not_fenced": "start,step",
    "offsets_change_under_tasks": "",
    "lost_tasks_are_forgotten": "",
    "tasks_are_not_awaited": "",
    "unacknowledged_writes": "",
    "units_move_in_one_generation": "",
    "stopped_units_are_not_released": "",
    "deleted_connectors_keep_running": "",
    "statuses_without_owners_stay": "",
}
"""Mutations that the simulation has found, and the kinds of faults with which they are looked for; empty: all."""


def _start(*options: str, hash_seed: str = "0") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.simulation", *options]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def _finish(started: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    outputs = [process.communicate()[0] for process in started]
    return [(process.returncode, output) for process, output in zip(started, outputs, strict=True)]


def test_no_seed_violates_an_invariant_and_each_gives_the_same_run_in_another_process() -> None:
    half = SEEDS // 2
    halves = [_start("--seed", str(first), "--seeds", str(half), "--digest") for first in (1, 1 + half)]
    *runs, (_, again) = _finish([*halves, _start("--seed", "1", "--seeds", "2", "--digest", hash_seed="1")])
    output = "\n".join(text for _, text in runs)
    assert [code for code, _ in runs] == [0, 0], output
    digests, repeated = (re.findall(r"^seed .*", text, re.MULTILINE) for text in (output, again))
    assert len(digests) == SEEDS
    assert digests[:2] == repeated


def test_a_failing_run_is_reduced_to_the_requests_and_faults_that_matter() -> None:
    runs: list[Sequence[str]] = []

    def violates(only: Sequence[str]) -> bool:
        runs.append(only)
        return {"a3", "fault2"} <= {*only}

    choices = [f"{source}{n}" for n in range(1, 21) for source in ("a", "b", "fault")]
    assert shrink(choices, violates) == ["fault2", "a3"]
    assert len(runs) < len(choices)
    assert len(shrink(choices, violates, max_runs=3)) > 2


def test_violations_are_compared_without_names_and_numbers() -> None:
    first = "not live: after 45 s without faults k has the running tasks {0: 'w1'}, but should have 2 (RUNNING)"
    other = "not live: after 45 s without faults a has the running tasks {}, but should have 3 (RUNNING)"
    assert kind(first) == kind(other) != kind("two owners: a-1@w2/slot0.3#17 works beside a-1@w1/slot0.0#16")


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_no_seed_of_many_violates_an_invariant() -> None:
    cores = os.cpu_count() or 1
    each = SOAK_SEEDS // cores
    runs = _finish([_start("--seed", str(1 + each * i), "--seeds", str(each)) for i in range(cores)])
    assert [code for code, _ in runs] == [0] * cores, "\n".join(output for _, output in runs)
    assert all("\nnever: -\n" in output for _, output in runs), "a kind of request, fault or event never happens"


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_the_simulation_finds_each_mutation() -> None:
    def seeds(mutation: str) -> str:
        options = (
            "--mutation",
            mutation,
            "--seeds",
            str(MUTATION_SEEDS),
            "--stop",
            "--faults",
            MUTATIONS[mutation],
        )
        return _finish([_start(*options)])[0][1]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(MUTATIONS, pool.map(seeds, MUTATIONS), strict=True))
    missed = [mutation for mutation, output in found.items() if "violation(s)" not in output]
    assert not missed
    broken = {mutation: output for mutation, output in found.items() if "unexpected error" in output}
    assert not broken, "the mutation itself fails: no invariant is tried"

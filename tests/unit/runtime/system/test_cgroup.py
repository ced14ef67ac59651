"""The limits of control groups of both versions, from given files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.system.cgroup import Cgroup, ReachedLimits, end_first, usable_cores
from tests.support.control_groups import Files, write

MB = 1 << 20


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_version_2(files: Files) -> None:
    group = files.version_2(
        cpu__max="150000 100000",
        memory__max=str(512 * MB),
        memory__current=str(500 * MB),
        memory__stat=f"anon {300 * MB}\nactive_file {150 * MB}\ninactive_file {40 * MB}",
        memory__events="low 0\noom 3\noom_kill 2\noom_group_kill 0",
    )
    assert (group.cores, group.memory_limit, group.memory_free) == (1.5, 512 * MB, 202 * MB)
    assert group.kills == 2


def test_version_1_in_a_container_that_has_only_its_own_group_mounted(files: Files) -> None:
    root = "/docker/abc"
    files.member(f"5:memory:{root}", f"3:cpu,cpuacct:{root}", "1:name=systemd:/x", "0::/")
    files.mount("unified", "cgroup2", "rw")
    write(files.mount("cpu", "cgroup", "rw,cpu,cpuacct", root), {"cpu__cfs_quota_us": "50000"})
    write(files.groups / "cpu", {"cpu__cfs_period_us": "100000"})
    memory = files.mount("memory", "cgroup", "rw,memory", root)
    limits = {"memory__limit_in_bytes": str(512 * MB), "memory__usage_in_bytes": str(500 * MB)}
    statistics = f"active_file 1\ninactive_file 1\ntotal_active_file {100 * MB}\ntotal_inactive_file {50 * MB}"
    kills = "oom_kill_disable 0\nunder_oom 0\noom_kill 1"
    write(memory, {**limits, "memory__stat": statistics, "memory__oom_control": kills})
    group = Cgroup(files.process)
    assert (group.cores, group.memory_limit, group.memory_free) == (0.5, 512 * MB, 162 * MB)
    assert group.kills == 1


def test_the_lowest_limit_of_the_groups_above_counts(files: Files) -> None:
    group = files.version_2("/pod/worker", cpu__max="max 100000", memory__max="max")
    write(files.groups / "unified" / "pod", {"cpu__max": "200000 100000", "memory__max": str(100 * MB)})
    write(files.groups / "unified", {"cpu__max": "300000 100000", "memory__max": str(900 * MB)})
    assert (group.cores, group.memory_limit) == (2.0, 100 * MB)


def test_a_group_outside_of_what_is_mounted(files: Files) -> None:
    write(files.mount("unified", "cgroup2", "rw", "/docker/abc"), {"cpu__max": "200000 100000"})
    for path in ("/docker/abcdef", "/../other"):
        files.member(f"0::{path}")
        assert Cgroup(files.process).cores == 2.0


def test_groups_without_limits(files: Files) -> None:
    files.member("3:cpu:/", "4:memory:/")
    write(files.mount("cpu", "cgroup", "rw,cpu"), {"cpu__cfs_quota_us": "-1", "cpu__cfs_period_us": "100000"})
    write(files.mount("memory", "cgroup", "rw,memory"), {"memory__limit_in_bytes": str((1 << 63) - 4096)})
    group = Cgroup(files.process)
    assert (group.cores, group.memory_limit, group.memory_free, group.kills) == (None, None, None, 0)


def test_systems_without_groups(tmp_path: Path) -> None:
    group = Cgroup(tmp_path)
    assert (group.cores, group.memory_limit, group.memory_free, group.kills) == (None, None, None, 0)
    assert usable_cores(group) == usable_cores(Cgroup())


@pytest.mark.parametrize(("quota", "cores"), [(1_000, 1), (50_000, 1), (100_000, 1), (150_000, 2), (99_900_000, None)])
def test_usable_cores_are_a_quota_rounded_up_but_not_more_than_there_are(
    files: Files, quota: int, cores: int | None
) -> None:
    available = len(os.sched_getaffinity(0))
    assert usable_cores(files.version_2(cpu__max=f"{quota} 100000")) == min(cores or available, available)


def test_usable_cores_are_those_of_the_affinity(files: Files) -> None:
    all_cores = os.sched_getaffinity(0)
    group = files.version_2(cpu__max="max 100000")
    try:
        os.sched_setaffinity(0, {min(all_cores)})
        assert usable_cores(group) == 1
    finally:
        os.sched_setaffinity(0, all_cores)


def test_kills_without_a_limit_are_those_of_the_machine(files: Files) -> None:
    limits = ReachedLimits(files.version_2(memory__max="max", memory__events="oom_kill 0"))
    assert not [*limits.look()]
    write(files.groups / "unified", {"memory__events": "oom_kill 2"})
    (text,) = limits.look()
    assert "has ended 2 processes of this worker because the machine's memory was used up" in text
    assert not [*limits.look()]


@pytest.mark.parametrize(("limit", "shown"), [("200", "its limit of 200 (pids.max)"), ("max", "its limit (pids.max)")])
def test_threads_that_could_not_be_started(files: Files, limit: str, shown: str) -> None:
    limits = ReachedLimits(files.version_2(pids__max=limit, pids__events="max 1"))
    assert not [*limits.look()]
    write(files.groups / "unified", {"pids__events": "max 4"})
    (text,) = limits.look()
    assert text.startswith("Out of threads: 3 could not be started ")
    assert shown in text


@pytest.mark.parametrize(("limit", "before", "after"), [("max", 0, 0), ("1000", 0, 300), ("1000", 937, 1000)])
def test_a_process_that_the_kernel_ends_first_under_a_limit(
    files: Files, tmp_path: Path, limit: str, before: int, after: int
) -> None:
    score = tmp_path / "oom_score_adj"
    score.write_text(f"{before}\n")
    end_first(300, score, files.version_2(memory__max=limit))
    assert int(score.read_text()) == after

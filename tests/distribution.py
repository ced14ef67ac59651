"""Which files of tests run in the same process, and when: a plugin of pytest for several processes
(`-p tests.distribution`).

Each file as a whole, as with `--dist loadfile`; of the folders below, all files, since they share servers that would
otherwise be started in each process. Files are taken in the order of their folders: scenarios, which take up to a
minute each, before unit tests, so that no process still runs a long one when the others have finished.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

TOGETHER = ("tests/scenario/java/", "tests/unit/runtime/connectors/jdbc/")
COMPUTING = "tests/unit/runtime/"
"""Tests that hardly wait. The first process starts with them, so that the processors have work while the others wait
for sessions, commits and starts; the quick ones of `tests/unit/tui` are left for the end."""


class FolderScheduling(LoadFileScheduling):
    """Files and some folders as a whole."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)

    def _assign_work_unit(self, node: Any) -> None:
        self.workqueue.move_to_end(next_scope(self.workqueue, is_first=node is self.nodes[0]), last=False)
        super()._assign_work_unit(node)


def next_scope(queue: Iterable[str], is_first: bool) -> str:
    """What a process runs next: the first process tests that compute, if there are any left, the others the first."""
    scopes = list(queue)
    return next((scope for scope in scopes if is_first and scope.startswith(COMPUTING)), scopes[0])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps the bytecode of tests even with PYTHONDONTWRITEBYTECODE: without it, each process rewrites all assertions
    in each run, for ten seconds of processor time."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = before


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FolderScheduling:
    """Replaces the scheduler that `--dist` names."""
    return FolderScheduling(config, log)

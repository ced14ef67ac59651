"""Which files of tests run in the same process: a plugin of pytest for several processes (`-p tests.distribution`).

Each file as a whole, as with `--dist loadfile`; of the folders below, all files, since they share servers that would
otherwise be started in each process.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

TOGETHER = ("tests/scenario/java/", "tests/unit/runtime/connectors/jdbc/")


class FolderScheduling(LoadFileScheduling):
    """Files and some folders as a whole."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FolderScheduling:
    """Replaces the scheduler that `--dist` names."""
    return FolderScheduling(config, log)

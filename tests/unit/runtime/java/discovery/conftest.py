"""The jar of edge cases, compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.java.sources.edge_cases import edge_case_jar


@pytest.fixture(scope="session")
def edge_cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return edge_case_jar(tmp_path_factory.mktemp("edge"))

"""Debian packages that several processes install."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from runtime.system.locks import exclusive
from tests.support.packages import debian


def test_programs_of_an_installation_under_way_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "_LOCK", tmp_path / "lock")
    found: list[str] = []
    using = threading.Thread(target=lambda: found.append(debian.installed(lambda: "initdb", "postgresql")), daemon=True)
    with exclusive(tmp_path / "lock"):
        using.start()
        using.join(0.3)
        assert not found
    using.join(10)
    assert found == ["initdb"]

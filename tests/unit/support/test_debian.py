"""Debian packages that several processes install."""

from __future__ import annotations

import threading
from pathlib import Path

from runtime.system.locks import exclusive
from tests.support.packages.debian import installed


def test_programs_of_an_installation_under_way_are_not_used(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    found: list[str] = []
    using = threading.Thread(
        target=lambda: found.append(installed(lambda: "initdb", "postgresql", lock=lock)), daemon=True
    )
    with exclusive(lock):
        using.start()
        using.join(0.3)
        assert not found
    using.join(10)
    assert found == ["initdb"]

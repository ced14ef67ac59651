from __future__ import annotations

from pathlib import Path

import pytest

from runtime.engine import pressure


def test_what_linux_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = tmp_path / "cpu"
    monkeypatch.setattr(pressure, "_PRESSURE", said)
    said.write_text("some avg10=84.62 avg60=9.32 avg300=2.89 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
    assert pressure.starved()
    said.write_text("some avg10=4.62 avg60=90.32 avg300=82.89 total=1\nfull avg10=90.00 avg60=0.00 avg300=0 total=0\n")
    assert not pressure.starved()


def test_elsewhere_the_load_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pressure, "_PRESSURE", tmp_path / "none")
    monkeypatch.setattr(pressure.os, "cpu_count", lambda: 2)
    for load, expected in ((9.0, True), (7.0, False)):
        monkeypatch.setattr(pressure.os, "getloadavg", lambda load=load: (load, 99.0, 99.0))
        assert pressure.starved() is expected

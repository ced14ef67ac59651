from __future__ import annotations

import pytest

from runtime.engine import pressure


@pytest.mark.parametrize(("load", "expected"), [(17.0, True), (15.0, False)])
def test_a_machine_is_starved_when_many_wait_for_each_core(
    load: float, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.getloadavg", lambda: (load, 99.0, 0.0))
    assert pressure.starved() is expected

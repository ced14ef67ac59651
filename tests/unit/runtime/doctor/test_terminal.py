"""Checks of the terminal."""

from __future__ import annotations

import pytest

from runtime.doctor import terminal
from runtime.doctor.check_result import CheckSeverity


@pytest.mark.parametrize(
    ("env", "severity", "text"),
    [
        ({"TERM": "xterm-256color"}, CheckSeverity.OK, "OSC 52"),
        ({"TERM": "screen.xterm"}, CheckSeverity.NOTE, "GNU screen"),
        ({"TERM": "xterm", "TERM_PROGRAM": "Apple_Terminal"}, CheckSeverity.NOTE, "Terminal.app"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "6003"}, CheckSeverity.NOTE, "VTE 6003"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7602"}, CheckSeverity.OK, "OSC 52"),
    ],
)
def test_clipboards(env: dict[str, str], severity: CheckSeverity, text: str) -> None:
    found = terminal._clipboard(env)
    assert (found.severity, text in str(found)) == (severity, True)

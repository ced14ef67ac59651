"""Checks whether the terminal meets the needs of the console's screen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping

from runtime.doctor.check_result import CheckResult, note, ok

_COLUMNS, _LINES = 80, 24
_FIRST_VTE_WITH_OSC_52 = 7600  # VTE is the terminal of GNOME and others


def check_terminal(env: Mapping[str, str] = os.environ) -> Iterator[CheckResult]:
    """All checks. No result is BAD, since scripts need no terminal."""
    if not sys.stdout.isatty():
        yield note("terminal", "standard output is not a terminal", "the screen needs one; --script and -c do not")
        return
    yield _kind(env)
    yield _size()
    yield _encoding()
    yield _clipboard(env)


def _kind(env: Mapping[str, str]) -> CheckResult:
    term = env.get("TERM", "")
    if term in ("", "dumb"):
        return note("terminal", f"TERM={term}", "set TERM to the type of the terminal, for example xterm-256color")
    if env.get("NO_COLOR"):
        return note("terminal", f"{term}, NO_COLOR is set", "unset it for colours; the screen also works without")
    true_color = env.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    return ok("terminal", f"{term}, {'true colour' if true_color else 'indexed colours'}")


def _size() -> CheckResult:
    columns, lines = shutil.get_terminal_size((0, 0))
    if columns < _COLUMNS or lines < _LINES:
        return note("size", f"{columns}×{lines}", f"below {_COLUMNS}×{_LINES} some columns are not shown")
    return ok("size", f"{columns}×{lines}")


def _encoding() -> CheckResult:
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    if encoding != "utf8":
        return note(
            "encoding",
            encoding or "unknown",
            "set LANG to a UTF-8 locale, for example C.UTF-8, to see lines",
        )
    return ok("encoding", "UTF-8")


def _clipboard(env: Mapping[str, str]) -> CheckResult:
    """Copying uses the terminal (OSC 52), so it works over SSH if the terminal allows it."""
    if "TMUX" in env and (mode := _tmux_mode()) != "on":
        return note("clipboard", f"tmux: set-clipboard {mode}", "tmux set -s set-clipboard on")
    if "TMUX" not in env and env.get("TERM", "").startswith("screen"):
        return note("clipboard", "GNU screen does not pass OSC 52 on", "select with Shift and the mouse, or use tmux")
    if env.get("TERM_PROGRAM") == "Apple_Terminal":
        return note("clipboard", "Terminal.app has no OSC 52", "select with Fn and the mouse, or use another terminal")
    vte = env.get("VTE_VERSION", "")
    if vte.isdigit() and int(vte) < _FIRST_VTE_WITH_OSC_52:
        return note("clipboard", f"VTE {vte} has no OSC 52", "select with Shift and the mouse")
    return ok("clipboard", "through the terminal (OSC 52)")


def _tmux_mode() -> str:
    try:
        response = subprocess.run(
            ["tmux", "show", "-sv", "set-clipboard"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return response.stdout.strip()

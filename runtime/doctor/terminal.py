"""What the console's screen needs of a terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping

from runtime.doctor.finding import Finding, note, ok

_COLUMNS, _LINES = 80, 24
_OSC_52_IN_VTE = 7600  # the first VTE (GNOME Terminal and others) whose clipboard applications may set


def findings(env: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Nothing here is bad: scripts need no terminal."""
    if not sys.stdout.isatty():
        yield note("terminal", "none here", "the screen needs one; --script and -c do not")
        return
    yield _kind(env)
    yield _size()
    yield _encoding()
    yield _clipboard(env)


def _kind(env: Mapping[str, str]) -> Finding:
    term = env.get("TERM", "")
    if term in ("", "dumb"):
        return note("terminal", f"TERM={term}", "set TERM to what the terminal is (as xterm-256color)")
    if env.get("NO_COLOR"):
        return note("terminal", f"{term}, NO_COLOR is set", "unset it for colours; the screen works without")
    true_color = env.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    return ok("terminal", f"{term}, {'true colour' if true_color else 'indexed colours'}")


def _size() -> Finding:
    columns, lines = shutil.get_terminal_size((0, 0))
    if columns < _COLUMNS or lines < _LINES:
        return note("size", f"{columns}×{lines}", f"columns are left out below {_COLUMNS}×{_LINES}")
    return ok("size", f"{columns}×{lines}")


def _encoding() -> Finding:
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    if encoding != "utf8":
        return note(
            "encoding", encoding or "unknown", "set LANG to a UTF-8 locale (as C.UTF-8), or lines are drawn wrongly"
        )
    return ok("encoding", "UTF-8")


def _clipboard(env: Mapping[str, str]) -> Finding:
    """Copying goes through the terminal (OSC 52), so it works over SSH where the terminal lets it."""
    if "TMUX" in env and (mode := _tmux_mode()) != "on":
        return note("clipboard", f"tmux: set-clipboard {mode}", "tmux set -s set-clipboard on")
    if "TMUX" not in env and env.get("TERM", "").startswith("screen"):
        return note("clipboard", "GNU screen keeps it to itself", "select with Shift and the mouse, or use tmux")
    if env.get("TERM_PROGRAM") == "Apple_Terminal":
        return note("clipboard", "Terminal.app has no OSC 52", "select with Fn and the mouse, or use another terminal")
    vte = env.get("VTE_VERSION", "")
    if vte.isdigit() and int(vte) < _OSC_52_IN_VTE:
        return note("clipboard", f"VTE {vte} has no OSC 52", "select with Shift and the mouse")
    return ok("clipboard", "by way of the terminal (OSC 52)")


def _tmux_mode() -> str:
    try:
        asked = subprocess.run(
            ["tmux", "show", "-sv", "set-clipboard"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return asked.stdout.strip()

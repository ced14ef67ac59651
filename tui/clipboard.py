"""Copying over SSH: through the terminal (OSC 52), past tmux and screen; into a file where that cannot work."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

LONGEST = 74_994  # bytes that xterm takes; others take no more
SCREEN_PIECE = 512  # GNU screen passes strings of up to 768 bytes on
OSC_52_IN_VTE = 7600  # the first VTE (GNOME Terminal and others) whose clipboard programs may set

Ask = Callable[[str, str], str]  # (scope, name of a tmux option) → its value


Load = Callable[[bytes], bool]  # hands a text to tmux; True when tmux accepted it


class Copied(NamedTuple):
    """What to write to the terminal, empty when that is in vain, and what to say."""

    sequence: str
    words: str


def copy(text: str, environ: Mapping[str, str], folder: Path, ask: Ask, load: Load) -> Copied:
    """Writes a file only where the terminal cannot help; raises OSError when that cannot be written either."""
    if why := obstacle(len(encoded(text)), environ, ask):
        if "TMUX" in environ and load(encoded(text)):
            return Copied("", f"copied by tmux, {len(text):,} characters; also in the tmux paste buffer")
        return Copied("", f"{why}: written to {_keep(text, folder)}")
    return Copied(sequence(text, environ), f"copied, {len(text):,} characters")


def obstacle(size: int, environ: Mapping[str, str], ask: Ask) -> str:
    """Why the clipboard is out of reach; empty when it is not."""
    term, vte = environ.get("TERM", ""), environ.get("VTE_VERSION", "")
    if size > LONGEST:
        return "too long for the terminal's clipboard"
    if "TMUX" in environ:
        if ask("-gv", "allow-passthrough") in ("on", "all") or ask("-sv", "set-clipboard") == "on":
            return ""
        return "tmux keeps the clipboard to itself (set -s set-clipboard on)"
    if term in ("", "dumb", "linux") or term.startswith(("vt1", "vt2")):
        return "this terminal has no clipboard"
    if environ.get("TERM_PROGRAM") == "Apple_Terminal":
        return "Terminal.app lets no program copy"
    if vte.isdigit() and int(vte) < OSC_52_IN_VTE:
        return "this terminal lets no program copy"
    return ""


def encoded(text: str) -> bytes:
    """Half characters, which no clipboard holds, as question marks."""
    return text.encode("utf-8", "replace")


def sequence(text: str, environ: Mapping[str, str]) -> str:
    """OSC 52. For tmux twice: as a passthrough to the terminal outside, and for tmux itself; each tmux obeys what
    its options let it."""
    plain = f"\x1b]52;c;{base64.b64encode(encoded(text)).decode()}\x07"
    if "TMUX" in environ:
        return "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\" + plain
    if "STY" in environ:
        pieces = [plain[at : at + SCREEN_PIECE] for at in range(0, len(plain), SCREEN_PIECE)]
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return plain


def _keep(text: str, folder: Path) -> Path:
    """Nobody else reads it: a copied request may hold a config."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "copied.txt"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(encoded(text if text.endswith("\n") else text + "\n"))
    return file


def ask_tmux(scope: str, option: str) -> str:
    """An option of the tmux we are in; empty where it cannot be asked."""
    import subprocess

    command = ["tmux", "show-options", scope, option]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=0.5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def load_tmux(text: bytes) -> bool:
    """Loads the text into a buffer of the surrounding tmux, which also sets the terminal's clipboard (since tmux 3.2,
    even where programs inside tmux may not)."""
    import subprocess

    try:
        subprocess.run(["tmux", "load-buffer", "-w", "-"], input=text, capture_output=True, timeout=2.0, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True

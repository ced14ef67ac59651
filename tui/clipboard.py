"""Copying to the clipboard, also over SSH: by the terminal (OSC 52), through tmux and screen, or else to a file."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tui import private_file

MAX_BYTES = 74_994  # the limit of xterm, which is the highest
SCREEN_CHUNK = 512  # bytes; GNU screen forwards strings of up to 768 bytes
OSC_52_IN_VTE = 7600  # the first version of VTE (GNOME Terminal and others) with OSC 52

Ask = Callable[[str, str], str]  # (scope, name) of a tmux option → its value


Load = Callable[[bytes], bool]  # loads a text into a tmux buffer; False if that fails


class Copied(NamedTuple):
    """The sequence to write to the terminal, if any, and the message for the user."""

    sequence: str
    message: str


def copy(text: str, environ: Mapping[str, str], folder: Path, ask: Ask, load: Load) -> Copied:
    """Copies the text by the terminal, by tmux, or to a file. Raises OSError if the file cannot be written."""
    if reason := obstacle(len(encoded(text)), environ, ask):
        if "TMUX" in environ and load(encoded(text)):
            return Copied("", f"copied by tmux, {len(text):,} characters; also in the tmux paste buffer")
        return Copied("", f"{reason}: written to {_keep(text, folder)}")
    return Copied(sequence(text, environ), f"copied, {len(text):,} characters")


def obstacle(size: int, environ: Mapping[str, str], ask: Ask) -> str:
    """The reason why the clipboard cannot be used; empty if it can."""
    term, vte = environ.get("TERM", ""), environ.get("VTE_VERSION", "")
    if size > MAX_BYTES:
        return "too long for the terminal's clipboard"
    if "TMUX" in environ:
        if ask("-gv", "allow-passthrough") in ("on", "all") or ask("-sv", "set-clipboard") == "on":
            return ""
        return "tmux does not allow access to the clipboard (set -s set-clipboard on)"
    if term in ("", "dumb", "linux") or term.startswith(("vt1", "vt2")):
        return "this terminal has no clipboard"
    if environ.get("TERM_PROGRAM") == "Apple_Terminal":
        return "Terminal.app does not allow programs to copy"
    if vte.isdigit() and int(vte) < OSC_52_IN_VTE:
        return "this terminal does not allow programs to copy"
    return ""


def encoded(text: str) -> bytes:
    """The text as UTF-8, with a question mark for each lone surrogate."""
    return text.encode("utf-8", "replace")


def sequence(text: str, environ: Mapping[str, str]) -> str:
    """The OSC 52 sequence. For tmux twice: as passthrough to the outer terminal and for tmux itself, since its options
    may allow either."""
    plain = f"\x1b]52;c;{base64.b64encode(encoded(text)).decode()}\x07"
    return through_multiplexer(plain, environ) + (plain if "TMUX" in environ else "")


def through_multiplexer(plain: str, environ: Mapping[str, str]) -> str:
    """The sequence, wrapped for the terminal around tmux or GNU screen if there is one."""
    if "TMUX" in environ:
        return "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if "STY" in environ:
        pieces = [plain[at : at + SCREEN_CHUNK] for at in range(0, len(plain), SCREEN_CHUNK)]
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return plain


def _keep(text: str, folder: Path) -> Path:
    """Writes the text to a file that only the user can read, since it may contain a config."""
    file = folder / "copied.txt"
    private_file.store(file, encoded(text if text.endswith("\n") else text + "\n").decode())
    return file


def ask_tmux(scope: str, option: str) -> str:
    """The value of an option of the surrounding tmux; empty if tmux does not respond."""
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

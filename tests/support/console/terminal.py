"""The real program in a pseudo terminal, with an emulator that reports the contents of the screen."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pexpect
import pyte

from tests.support.waiting import is_over

# pyte 0.8 prints the end of private sequences it does not know; a terminal ignores them.
_PRIVATE = re.compile(rb"\x1b\[[><=?][0-9;]*[a-zA-Z$]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p")
_KNOWN = re.compile(rb"\x1b\[\?(25|7|1049|6)[hl]")
KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "backspace": "\x7f",
    "tab": "\t",
    "down": "\x1b[B",
    "up": "\x1b[A",
    "end": "\x1b[F",
    "f5": "\x1b[15~",
    "delete": "\x1b[3~",
}


class Terminal:
    """`headrace ARGUMENTS` in a terminal of a given size. Every wait has a time limit; an error shows the screen."""

    def __init__(self, *arguments: str, columns: int = 80, lines: int = 24, **environment: str) -> None:
        program = str(Path(sys.executable).parent / "headrace")
        env = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", **environment}
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self._rest = b""
        self.written = b""  # all output of the program
        size = (lines, columns)
        self.process: pexpect.spawn[bytes] = pexpect.spawn(program, [*arguments], env=env, dimensions=size, timeout=30)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.close(force=True)

    def pump(self, seconds: float = 0.05) -> None:
        """Reads the output that the program has written."""
        with suppress(pexpect.TIMEOUT, pexpect.EOF):
            self._feed(self.process.read_nonblocking(65536, seconds))

    def _pump_the_rest(self) -> None:
        """Reads the remaining output of a program that has ended."""
        with suppress(pexpect.TIMEOUT, pexpect.EOF):
            while True:
                self._feed(self.process.read_nonblocking(65536, 0.2))

    def _feed(self, data: bytes) -> None:
        self.written += data
        data = self._rest + data
        cut = data.rfind(b"\x1b")
        whole = cut < 0 or len(data) - cut > 32 or re.match(rb"\x1b\[[0-9;?<>=$]*[a-zA-Z]", data[cut:])
        data, self._rest = (data, b"") if whole else (data[:cut], data[cut:])
        self._stream.feed(_PRIVATE.sub(lambda match: match[0] if _KNOWN.fullmatch(match[0]) else b"", data))

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        """The text of the screen, with line breaks and frames as blanks, so that wrapped sentences are found."""
        return " ".join(re.sub("[│█▌]", " ", "\n".join(self.lines)).split())

    def until(self, condition: Callable[[], Any], what: str, within: float = 45.0) -> None:
        started = time.monotonic()
        while not condition():
            shown = "\n".join(self.lines)
            assert not is_over(started, within), f"timed out after {within:g} s: {what}\n{shown}"
            if not self.process.isalive():
                self._pump_the_rest()
                assert condition(), f"the program has ended: {what}\n{shown}"
            self.pump()

    def sees(self, *texts: str, within: float = 45.0) -> None:
        self.until(lambda: all(text in self.text for text in texts), " and ".join(texts), within)

    @property
    def reversed_lines(self) -> list[str]:
        """The lines with reverse video."""
        rows = ((line, self.screen.buffer[y]) for y, line in enumerate(self.lines))
        return [line for line, row in rows if any(row[x].reverse for x in range(len(line)))]

    def press(self, *keys: str) -> None:
        for key in keys:
            control = chr(ord(key[-1]) - 96) if key.startswith("ctrl+") else None
            self.process.send(control or KEYS.get(key, key))
            self.pump(0.01)

    def escape(self) -> None:
        """Presses Escape and pauses, since an immediate next key would be read as an escape sequence."""
        self.press("escape")
        alone_until = time.monotonic() + 0.3
        while time.monotonic() < alone_until:  # pump() returns as soon as there is output
            self.pump()

    def resize(self, columns: int, lines: int) -> None:
        self.screen.resize(lines, columns)
        self.screen.reset()
        self.process.setwinsize(lines, columns)

    def exit_code(self, within: float = 20.0) -> int | None:
        started = time.monotonic()
        while self.process.isalive():
            assert not is_over(started, within), f"still running after {within:g} s\n" + "\n".join(self.lines)
            self.pump()
        self._pump_the_rest()
        self.process.close()
        return self.process.exitstatus

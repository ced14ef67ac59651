"""A thread that lets files grow."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

PAUSE = 0.05  # seconds between two batches, at least


def numbered(number: int) -> str:
    return f"{number:09d} {'x' * 80}\n"


class Feeder:
    """Appends batches of numbered lines to the sources' files until stopped: `a_second` to all together."""

    def __init__(self, files: list[Path], a_second: int, line: Callable[[int], str] = numbered) -> None:
        rate = a_second / len(files)  # of each file
        self._line, self._files, self._pause = line, files, max(PAUSE, 1 / rate)
        self._batch = max(1, int(rate * self._pause))
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="feeder")
        self.written = 0  # lines in each file

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        outs = [file.open("a") for file in self._files]
        while not self._end.wait(self._pause):
            lines = "".join(map(self._line, range(self.written, self.written + self._batch)))
            for out in outs:
                out.write(lines)
                out.flush()
            self.written += self._batch
        for out in outs:
            out.close()

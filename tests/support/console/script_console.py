"""Runs the console's scripts in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """The output of a run, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Console:
    """`headrace URL …` with its own settings."""

    def __init__(self, url: str, home: Path) -> None:
        self.url = url
        clean = {key: value for key, value in os.environ.items() if not key.startswith("HEADRACE_")}
        # Tests that do not concern --settle continue after the response, as with kcctl.
        self.environ = {**clean, "XDG_CONFIG_HOME": str(home), "HEADRACE_SETTLE": "0s"}

    def __call__(
        self, *commands: str, options: tuple[str, ...] = (), code: int | None = 0, stdin: str = ""
    ) -> ScriptResult:
        """Runs commands with -c, and expects the exit code; any if it is None."""
        return self._run([self.url, *options, "-c", *commands], code, stdin)

    def in_context(self, name: str, *commands: str, code: int | None = 0) -> ScriptResult:
        """Runs commands on the cluster of a context instead of the URL; with any exit code if it is None."""
        return self._run(["--context", name, "-c", *commands], code, "")

    def script(self, text: str, *options: str, code: int = 0) -> ScriptResult:
        """Pipes a script to the console."""
        return self._run([self.url, "--script", "-", *options], code, text)

    def start(self, *commands: str, out: IO[bytes] | int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Starts commands without waiting for their end, so that the test can kill the process."""
        words = [sys.executable, "-m", "tui.main", self.url, "-c", *commands]
        return subprocess.Popen(words, env=self.environ, stdout=out, stderr=subprocess.DEVNULL)

    def _run(self, words: list[str], code: int | None, stdin: str) -> ScriptResult:
        done = subprocess.run(
            [sys.executable, "-m", "tui.main", *words],
            input=stdin,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        result = ScriptResult(done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in result.err
        assert code is None or result.code == code, result
        return result

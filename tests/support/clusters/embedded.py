"""The embedded cluster over its command line, in folders of the test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runtime.embedded.processes.process import ProcessRef
from runtime.embedded.state import ClusterState, StateFolder
from tests.support.processes import child_refs


class EmbeddedCommands:
    """`headrace embedded …` with its own state folder."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "headrace" / "embedded"
        self.env = {**os.environ, "XDG_STATE_HOME": str(folder)}

    def run(self, *arguments: str, timeout: float = 150.0) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end."""
        return subprocess.run(
            self.command(arguments), capture_output=True, text=True, env=self.env, timeout=timeout, check=False
        )

    def ok(self, *arguments: str) -> str:
        """Standard output of a command that has to succeed."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts a command whose standard error the test reads."""
        return subprocess.Popen(self.command(arguments), stderr=subprocess.PIPE, text=True, env=self.env)

    def status(self) -> dict[str, Any]:
        """The output of `status --json`, whatever its exit code; empty if the cluster does not run."""
        said = self.run("status", "--json").stdout
        return dict(json.loads(said)) if said else {}

    def recorded(self) -> ClusterState | None:
        """The state that the last supervisor has recorded, for waits: status() starts a process, which takes the
        processor from what is awaited."""
        return StateFolder(self.state).read()

    def processes(self) -> list[ProcessRef]:
        """The supervisor and all processes below it."""
        state = self.recorded()
        assert state is not None
        return [state.supervisor, *child_refs(state.supervisor.pid)]

    @staticmethod
    def command(arguments: Sequence[str]) -> list[str]:
        """The command line of `headrace embedded` with these arguments."""
        return [sys.executable, "-m", "runtime", "embedded", *arguments]

"""The state folder of the embedded cluster, by which the supervisor and commands communicate.

state.json    the supervisor, its processes and their addresses; written by the supervisor only, replaced atomically
attached/PID  a process that uses the cluster; the file has its start time
keep          exists if the cluster is to run without attached processes
run.lock      held by the supervisor while it runs
command.lock  held by a command while it decides to start, attach or stop
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from runtime.embedded.processes.process import ProcessRef
from runtime.system.cache import home_folder


def state_folder() -> Path:
    """Files of this machine's cluster: data, logs, process ids."""
    return _xdg("XDG_STATE_HOME", ".local/state") / "embedded"


def plugins_folder() -> Path:
    """The worker's `plugin.path`."""
    return state_folder() / "worker" / "plugins"


def _xdg(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    # The specification requires that relative paths are ignored.
    base = Path(value) if value.startswith("/") else home_folder() / fallback
    return base / "headrace"


class ClusterPhase(StrEnum):
    """The phase of the cluster."""

    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """A process of the cluster and its address."""

    process: ProcessRef
    address: str


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The content of state.json."""

    supervisor: ProcessRef
    phase: ClusterPhase
    url: str = ""
    bootstrap: str = ""
    cluster_id: str = ""
    parts: dict[str, ClusterPart] = field(default_factory=dict)

    def running(self) -> bool:
        """Whether the supervisor is running."""
        return self.supervisor.alive()


class StateFolder:
    """The state folder of the embedded cluster."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def run_lock(self) -> Path:
        return self.folder / "run.lock"

    @property
    def command_lock(self) -> Path:
        return self.folder / "command.lock"

    @property
    def log(self) -> Path:
        return self.folder / "supervisor.log"

    def read(self) -> ClusterState | None:
        """The recorded state; None if no state is recorded, or if the record cannot be parsed."""
        try:
            return _decode(json.loads((self.folder / "state.json").read_text()))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def write(self, state: ClusterState) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self.folder / f"state.json.{os.getpid()}"
        fresh.write_text(json.dumps(asdict(state), indent=2) + "\n")
        fresh.replace(self.folder / "state.json")

    def forget(self) -> None:
        """Removes the record of a cluster that has ended."""
        (self.folder / "state.json").unlink(missing_ok=True)
        self.keep(False)
        for file in self._attachments():
            file.unlink(missing_ok=True)

    def keep(self, wanted: bool) -> None:
        """Sets whether the cluster runs without attached processes."""
        marker = self.folder / "keep"
        if wanted:
            self.folder.mkdir(parents=True, exist_ok=True)
            marker.touch()
        else:
            marker.unlink(missing_ok=True)

    def kept(self) -> bool:
        return (self.folder / "keep").exists()

    def attach(self, process: ProcessRef) -> None:
        file = self.folder / "attached" / str(process.pid)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(process.started)

    def detach(self, pid: int) -> None:
        (self.folder / "attached" / str(pid)).unlink(missing_ok=True)

    def attached(self) -> list[ProcessRef]:
        """Processes that use the cluster; those that have ended are removed."""
        alive = []
        for file in self._attachments():
            try:
                process = ProcessRef(int(file.name), file.read_text())
            except (FileNotFoundError, ValueError):
                continue
            if process.alive():
                alive.append(process)
            else:
                file.unlink(missing_ok=True)
        return alive

    def _attachments(self) -> list[Path]:
        return sorted((self.folder / "attached").glob("*"))


def _decode(value: dict[str, Any]) -> ClusterState:
    return ClusterState(
        supervisor=ProcessRef(**value["supervisor"]),
        phase=ClusterPhase(value["phase"]),
        url=value["url"],
        bootstrap=value["bootstrap"],
        cluster_id=value["cluster_id"],
        parts={name: ClusterPart(ProcessRef(**p["process"]), p["address"]) for name, p in value["parts"].items()},
    )

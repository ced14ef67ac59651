"""What the embedded cluster leaves in its state folder for others to read.

state.json    the supervisor, its parts and their addresses; written by the supervisor alone, replaced as a whole
attached/PID  somebody who uses the cluster: the file holds the start time of that process
keep          the operator asked for the cluster: it stays when nobody is attached
run.lock      held by the supervisor for as long as it lives
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


class ClusterPhase(StrEnum):
    """How far the cluster is."""

    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """A process of the cluster and where it listens."""

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
        """Whether its supervisor lives."""
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
        """None when there is no cluster, or no record that can be read."""
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
        """The cluster has ended in good order."""
        (self.folder / "state.json").unlink(missing_ok=True)
        self.keep(False)
        for file in self._attachments():
            file.unlink(missing_ok=True)

    def keep(self, wanted: bool) -> None:
        """Whether the cluster stays when nobody is attached."""
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
        """Who uses the cluster; those who died without saying so are taken off."""
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

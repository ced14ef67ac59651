"""The state of a move in a file, so that `headrace migrate run` continues where it ended."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from runtime.migrate.way import Action, Way, WorkerKind


class MoveError(Exception):
    """A step cannot be taken, or what it should lead to is not so; the message names the remedy."""


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """The state of a connector and of its tasks, by id."""

    state: str
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MovedConnector:
    """A connector before the move: the SHA-256 of its config, which may hold secrets, and its state."""

    config: str
    states: ConnectorState


@dataclass(frozen=True, slots=True)
class MoveState:
    """A move to workers of the `target` kind. `references` are the exports whose offsets must not be lost, as names of
    files beside this one; after an unfinished move in the other direction its export is among them."""

    target: WorkerKind
    way: Way
    done: tuple[Action, ...] = ()
    connectors: Mapping[str, MovedConnector] = field(default_factory=dict)
    references: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        return Action.VERIFY in self.done

    def with_done(self, action: Action) -> MoveState:
        return replace(self, done=(*self.done, action))


def load(file: Path) -> MoveState | None:
    """The state in the file; None without a file. Raises MoveError for another content."""
    try:
        document = json.loads(file.read_bytes())
        connectors = {
            name: MovedConnector(entry["config"], ConnectorState(entry["state"], tuple(entry["tasks"])))
            for name, entry in document["connectors"].items()
        }
        done = tuple(map(Action, document["done"]))
        return MoveState(
            WorkerKind(document["target"]), Way(document["way"]), done, connectors, tuple(document["references"])
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MoveError(f"{file} is not the state of a move ({error!r}); remove it to begin again") from None


def save(state: MoveState, file: Path) -> None:
    """Replaces the file; after a crash it has the old or the new state."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    document = asdict(state)
    document["connectors"] = {
        name: {"config": connector.config, "state": connector.states.state, "tasks": connector.states.tasks}
        for name, connector in state.connectors.items()
    }
    partial = file.with_name(f"{file.name}.part")
    with partial.open("w", encoding="utf-8") as out:
        json.dump(document, out, indent=2)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(file)

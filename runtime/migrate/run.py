"""The command `headrace migrate run`.

Exit codes: 0 done, 1 ended before the last step, 2 wrong parameters or input, 130 interrupted. After 1 and 130 the same
command continues.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from runtime.config.properties import PropertiesError
from runtime.migrate import cli, connect_cluster, move_state, way
from runtime.migrate.connect_cluster import ClusterError
from runtime.migrate.move import STATE_FILE, Move, MoveOptions
from runtime.migrate.move_state import ConnectorState, MoveError, MoveState
from runtime.migrate.way import Action, Names, Way, WorkerKind
from runtime.offsets_tool import document
from runtime.offsets_tool.cluster import OfflineCluster, RunningWorker, cluster, worker_file
from runtime.offsets_tool.codec import OffsetCodec, codec
from runtime.offsets_tool.collection import Offsets
from runtime.offsets_tool.errors import BadInput, ToolError
from runtime.offsets_tool.stores import TopicStore

DONE, FAILED, USAGE_ERROR, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as end:  # argparse has printed the reason and the usage
        return int(end.code or 0)
    try:
        return _run(options)
    except (BadInput, PropertiesError) as error:
        return _refuse(str(error), USAGE_ERROR)
    except (MoveError, ToolError, ClusterError) as error:
        return _refuse(str(error), FAILED)
    except OSError as error:
        return _refuse(f"{error.filename or 'standard output'}: {error.strerror}", FAILED)
    except KeyboardInterrupt:
        return _refuse("interrupted", INTERRUPTED)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "headrace migrate run",
        description="Takes the steps of `headrace migrate check` one after another, asks before each, and checks its "
        "result. After an end in the middle the same command continues.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE.properties", help="the workers' properties file")
    parser.add_argument("--connect", metavar="URL", default="", help="a worker before the move")
    parser.add_argument("--to", metavar="URL", default="", help="a worker after the move; default: URL of --connect")
    parser.add_argument("--back", action="store_true", help="from Headrace's workers to Apache's")
    parser.add_argument("--way", type=Way, choices=list(Way), help="default: by the version of Apache's workers")
    parser.add_argument("--stop-command", metavar="COMMAND", help="stops the old workers, on all machines")
    parser.add_argument("--start-command", metavar="COMMAND", help="starts the new workers, on all machines")
    restart = "restarts Headrace's workers after a change of headrace.mixed.group"
    parser.add_argument("--restart-command", metavar="COMMAND", help=restart)
    parser.add_argument("--folder", metavar="FOLDER", type=Path, help="for state and offsets; default: FILE.move")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=300.0, help="for the result of a step")
    parser.add_argument("--yes", action="store_true", help="take all steps without questions")
    return parser


def _run(options: argparse.Namespace) -> int:
    folder = options.folder or Path(f"{options.file}.move")
    target = WorkerKind.APACHE if options.back else WorkerKind.HEADRACE
    earlier = move_state.load(folder / STATE_FILE)
    if earlier is not None and earlier.target is target and earlier.finished:
        print(f"The move to {target} is finished; remove {folder} to begin another one")
        return DONE
    props = worker_file(Path(options.file))
    kafka = KafkaCluster(cluster(props), codec(props))
    state = _state(options, target, earlier)
    if state is None:
        return FAILED
    names = Names(options.file, kafka.offline.group_id, kafka.offline.journal)
    move = Move(kafka, way.steps(state.way, target, names), folder, _move_options(options))
    move.run(state)
    print(f"The connectors run on {target} workers")
    return DONE


def _state(options: argparse.Namespace, target: WorkerKind, earlier: MoveState | None) -> MoveState | None:
    """The state to continue with; None if the check that precedes a new move has found what would be refused."""
    if earlier is not None and earlier.target is target:
        return earlier
    if earlier is not None and not earlier.finished:  # its connectors may be damaged by now, so they are not read again
        return MoveState(target, options.way or earlier.way, (Action.READ,), earlier.connectors, earlier.references)
    if not options.connect:
        raise BadInput("name a worker whose connectors are moved: --connect URL")
    if target is WorkerKind.APACHE:
        return MoveState(target, options.way or (earlier.way if earlier else Way.STOP))
    release = connect_cluster.read(options.connect).release
    if cli.check(options.file, options.connect) != cli.READY:
        print("headrace migrate: correct what is BAD above first", file=sys.stderr)
        return None
    return MoveState(target, options.way or way.way_from(release))


def _move_options(options: argparse.Namespace) -> MoveOptions:
    after = options.to or options.connect
    if not after:
        raise BadInput("name a worker after the move, with which the connectors are compared: --to URL")
    commands = {
        Action.STOP: options.stop_command,
        Action.START: options.start_command,
        Action.MIX: options.restart_command,
        Action.UNMIX: options.restart_command,
    }
    return MoveOptions(
        before=options.connect,
        after=after,
        commands={action: command for action, command in commands.items() if command},
        confirm=(lambda question: True) if options.yes else _confirm,
        report=lambda line: print(line, flush=True),
        timeout=options.timeout,
    )


def _confirm(question: str) -> bool:
    try:
        return input(f"    {question}? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


class KafkaCluster:
    """The cluster of a move, in Kafka and over REST."""

    def __init__(self, offline: OfflineCluster, how: OffsetCodec) -> None:
        self.offline, self._codec = offline, how

    def workers(self) -> Sequence[RunningWorker]:
        return self.offline.workers()

    def configs(self) -> Mapping[str, str]:
        return {
            name: hashlib.sha256(orjson.dumps(config, option=orjson.OPT_SORT_KEYS)).hexdigest()
            for name, config in self.offline.connectors().items()
        }

    def states(self, url: str) -> Mapping[str, ConnectorState]:
        return {name: ConnectorState(*states) for name, states in connect_cluster.states(url).items()}

    def unfinished(self) -> Sequence[str]:
        return TopicStore(self.offline).unfinished()

    def export(self, file: Path) -> tuple[int, int]:
        offsets = Offsets(self._codec)
        TopicStore(self.offline).load(offsets)
        return document.save(offsets, file)


def _refuse(message: str, code: int) -> int:
    print(f"headrace migrate: {message}", file=sys.stderr)
    return code

"""The command `headrace embedded up|down|status|run`, and its interface to other programs.

The console never imports this package; it runs `python -m runtime embedded …`:

    up --json --attach PID    Starts the cluster unless it is running, waits until it is ready, and records that PID
                              uses it. Last line on standard output: {"url", "bootstrap", "cluster_id", "started"};
                              progress and errors are lines on standard error. SIGINT and SIGTERM cancel the start.
    detach --pid PID          PID no longer uses the cluster. The cluster ends unless other processes are attached or
                              `up` was called without --attach. The end of an attached process is noticed within a
                              second.
    status --json             Standard output: {"phase", "url", "bootstrap", "cluster_id", "supervisor", "parts",
                              "attached", "kept"}

Exit codes: 0 done, 1 failed, 2 usage, 4 already running (`run`), 5 not running (`status`), 130 cancelled.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence

from runtime.embedded.cluster import EmbeddedCluster, fetch_jars
from runtime.embedded.errors import EmbeddedError
from runtime.embedded.processes import ports
from runtime.embedded.processes.ports import WantedPorts
from runtime.embedded.state import ClusterPhase, ClusterState, StateFolder, state_folder
from runtime.java.jvm.errors import JvmError


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    arguments = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code: int = arguments.command(arguments)
    except (EmbeddedError, JvmError) as error:
        _print_message(f"headrace: {error}")
        return error.exit_code
    except OSError as error:  # no permission, a read-only file system, a full disk
        if error.filename is None:
            raise
        _print_message(
            f"headrace: cannot write {error.filename}: {error.strerror}; make it writable or set XDG_STATE_HOME"
        )
        return 1
    except KeyboardInterrupt:
        _print_message("cancelled")
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headrace embedded", description="A Kafka broker and a Connect worker on this machine."
    )
    verbs = parser.add_subparsers(metavar="up|down|status|run", required=True)
    up = verbs.add_parser("up", help="start the cluster, wait until it is ready, leave it running")
    up.add_argument("--json", action="store_true", help="print its addresses as one line of JSON")
    up.add_argument(
        "--attach",
        type=int,
        metavar="PID",
        help="end the cluster when this and all other attached processes have ended",
    )
    _add_ports(up)
    up.set_defaults(command=_up)
    down = verbs.add_parser("down", help="end the cluster and keep its data")
    down.set_defaults(command=_down)
    status = verbs.add_parser("status", help="show its processes and their addresses")
    status.add_argument("--json", action="store_true", help="print JSON")
    status.set_defaults(command=_status)
    run = verbs.add_parser("run", help="run the cluster in the foreground until ^C")
    run.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)
    _add_ports(run)
    run.set_defaults(command=_run)
    detach = verbs.add_parser("detach")  # for the console only; without a help text it is not listed
    detach.add_argument("--pid", type=int, required=True, help="the process that `up --attach` recorded")
    detach.set_defaults(command=_detach)
    return parser


def _add_ports(command: argparse.ArgumentParser) -> None:
    for option, variable, usual in (
        (ports.KAFKA_OPTION, ports.KAFKA_VARIABLE, ports.KAFKA_PORT),
        (ports.REST_OPTION, ports.REST_VARIABLE, ports.REST_PORT),
    ):
        command.add_argument(
            option,
            type=_port,
            metavar="PORT",
            help=f"default: {variable} of the environment, or {usual} if it is free, or any free port",
        )


def _port(text: str) -> int:
    try:
        return ports.port_number(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a port: use a number from 1 to 65535") from None


def _wanted(arguments: argparse.Namespace) -> WantedPorts:
    return WantedPorts.of(arguments.kafka_port, arguments.rest_port)


def _up(arguments: argparse.Namespace) -> int:
    try:
        up = _cluster().up(arguments.attach, _wanted(arguments))
    except ProcessLookupError:
        _print_message(f"headrace: --attach {arguments.attach}: no process has this pid")
        return 2
    if arguments.json:
        where = {"url": up.state.url, "bootstrap": up.state.bootstrap, "cluster_id": up.state.cluster_id}
        print(json.dumps({**where, "started": up.started}), flush=True)
    elif not up.started:
        _print_message(f"running: Connect {up.state.url}, Kafka {up.state.bootstrap}")
    return 0


def _down(arguments: argparse.Namespace) -> int:
    _print_message("the embedded cluster has stopped" if _cluster().down() else "the embedded cluster was not running")
    return 0


def _detach(arguments: argparse.Namespace) -> int:
    if _cluster().detach(arguments.pid):
        _print_message("the embedded cluster has stopped")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    from runtime.embedded.supervisor import Supervisor

    if not arguments.detached:
        fetch_jars()
    Supervisor(state_folder(), _print_message, _wanted(arguments), stays=not arguments.detached).run()
    return 0


def _status(arguments: argparse.Namespace) -> int:
    state = _cluster().status()
    print(_as_json(state) if arguments.json else _as_table(state))
    return 0 if state.phase is ClusterPhase.READY and all(part.process.alive() for part in state.parts.values()) else 1


def _as_table(state: ClusterState) -> str:
    rows = [("PART", "STATE", "PID", "ADDRESS")]
    rows.append(("supervisor", state.phase.value, str(state.supervisor.pid), ""))
    for name, part in state.parts.items():
        word = "running" if part.process.alive() else "dead"
        rows.append((name, word, str(part.process.pid), part.address))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _as_json(state: ClusterState) -> str:
    folder = StateFolder(state_folder())
    parts = {
        name: {"pid": part.process.pid, "alive": part.process.alive(), "address": part.address}
        for name, part in state.parts.items()
    }
    return json.dumps(
        {
            "phase": state.phase.value,
            "url": state.url,
            "bootstrap": state.bootstrap,
            "cluster_id": state.cluster_id,
            "supervisor": state.supervisor.pid,
            "parts": parts,
            "attached": [process.pid for process in folder.attached()],
            "kept": folder.kept(),
        }
    )


def _cluster() -> EmbeddedCluster:
    return EmbeddedCluster(state_folder(), _print_message)


def _print_message(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

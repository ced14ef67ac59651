"""The runtime's commands (`python -m runtime`), to which the `headrace` command delegates."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from runtime.system.first_process import leave_first_process

WORKER_USAGE = """usage: headrace worker distributed FILE.properties
       headrace worker standalone FILE.properties [CONNECTOR.properties|CONNECTOR.json ...]"""

DOCTOR_USAGE = "usage: headrace doctor [--config FILE.properties]"

MIGRATE_USAGE = """usage: headrace migrate check FILE.properties [--connect URL]
       headrace migrate run FILE.properties --connect URL [--back] [--help]"""

USAGE = f"""{WORKER_USAGE}
       headrace embedded up|down|status|run
       headrace offsets --config=FILE.properties --export [FILE] | --import [FILE]
       headrace plugin new|list|test|run|install ...
       {DOCTOR_USAGE.removeprefix("usage: ")}
       {MIGRATE_USAGE.removeprefix("usage: ")}"""

WORKER_HELP = f"""{WORKER_USAGE}

Runs a Connect worker until SIGTERM or ^C. FILE has the properties of Apache's worker: see docs/properties.md.

  distributed   connectors, offsets and states are in Kafka; workers with the same group.id share them
  standalone    connectors are in the given files, source offsets in offset.storage.file.filename"""

DOCTOR_HELP = f"""{DOCTOR_USAGE}

Checks this machine for what Headrace needs, and with --config the plugin.path and the Kafka clients of a
worker. The exit code is 1 if an installed part cannot work."""

MIGRATE_HELP = f"""{MIGRATE_USAGE}

  check   reads the properties of Apache's workers, and through URL their connectors, and prints what a move to Headrace
          takes: what is refused, what has no effect, plugins, rights, memory and steps. Changes nothing. The exit code
          is 1 if something is refused.
  run     takes these steps, and with --back those back: asks before each, and checks its result"""

USAGE_ERROR = 2


def main(argv: Sequence[str]) -> int:
    """Runs one command and returns its exit code: 0 done, 1 failed, 2 usage."""
    match list(argv):
        case ["worker", *rest] if _asks_for_help(rest):
            print(WORKER_HELP)
            return 0
        case ["doctor", "-h" | "--help"]:
            print(DOCTOR_HELP)
            return 0
        case ["migrate", "-h" | "--help"]:
            print(MIGRATE_HELP)
            return 0
        case ["migrate", "check", file] | ["migrate", "check", file, "--connect", _]:
            from runtime.migrate import cli as migrate

            return migrate.check(file, *argv[4:])
        case ["migrate", "run", *rest]:
            from runtime.migrate import run as migration

            return migration.main(rest)
        case ["migrate", *_]:
            return _refuse(MIGRATE_USAGE)
        case ["worker", "distributed", file]:
            leave_first_process()
            from runtime.worker import worker

            return worker.main(file)
        case ["worker", "standalone", file, *connectors]:
            leave_first_process()
            from runtime.worker import standalone

            return standalone.main(file, connectors)
        case ["embedded", *rest]:
            leave_first_process()
            from runtime.embedded import cli

            return cli.main(rest)
        case ["doctor"]:
            from runtime.doctor import cli as doctor

            return doctor.main()
        case ["doctor", "--config", file]:
            from runtime.doctor import cli as doctor

            return doctor.main(file)
        case ["offsets", *rest]:
            from runtime.offsets_tool import cli as offsets

            return offsets.main(rest)
        case ["plugin", *rest]:
            from runtime.plugin_kit import cli as plugin

            return plugin.main(rest)
        case ["worker", "distributed" | "standalone"]:
            return _refuse(f"headrace worker: the worker's properties file is missing\n{WORKER_USAGE}")
        case ["worker", mode, *_]:
            return _refuse(f"headrace worker: {mode!r} is neither distributed nor standalone\n{WORKER_USAGE}")
        case ["worker"]:
            return _refuse(WORKER_USAGE)
        case ["doctor", *_]:
            return _refuse(DOCTOR_USAGE)
        case _:
            return _refuse(USAGE)


def _asks_for_help(words: Sequence[str]) -> bool:
    return not {"-h", "--help"}.isdisjoint(words)


def _refuse(message: str) -> int:
    print(message, file=sys.stderr)
    return USAGE_ERROR

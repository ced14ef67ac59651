"""The runtime's commands (`python -m runtime`), to which the `headrace` command delegates."""

from __future__ import annotations

import sys
from collections.abc import Sequence

USAGE = """usage: headrace worker distributed FILE.properties
       headrace worker standalone FILE.properties [CONNECTOR.properties|CONNECTOR.json ...]
       headrace embedded up|down|status|run
       headrace offsets --config=FILE.properties --export [FILE] | --import [FILE]
       headrace plugin new|list|test|run|install ...
       headrace doctor [--config WORKER.properties]"""

USAGE_ERROR = 2


def main(argv: Sequence[str]) -> int:
    """Runs one command and returns its exit code: 0 done, 1 failed, 2 usage."""
    match list(argv):
        case ["worker", "distributed", file]:
            from runtime.worker import worker

            return worker.main(file)
        case ["worker", "standalone", file, *connectors]:
            from runtime.worker import standalone

            return standalone.main(file, connectors)
        case ["embedded", *rest]:
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
        case ["worker" | "doctor", "-h" | "--help"]:
            print(USAGE)
            return 0
        case ["worker", "distributed" | "standalone"]:
            return _refuse(f"headrace worker: the worker's properties file is missing\n{USAGE}")
        case ["worker", mode, *_]:
            return _refuse(f"headrace worker: {mode!r} is neither distributed nor standalone\n{USAGE}")
        case _:
            return _refuse(USAGE)


def _refuse(message: str) -> int:
    print(message, file=sys.stderr)
    return USAGE_ERROR

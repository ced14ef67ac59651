"""The command `headrace doctor`."""

from __future__ import annotations

from pathlib import Path

from runtime.doctor import java_plugins, kafka_clients, machine, terminal
from runtime.doctor.check_result import CheckSeverity

OK, PROBLEM = 0, 1


def main(worker: str | None = None) -> int:
    """Runs every check and prints its result; the exit code is 1 if an installed part cannot work. `worker` is the
    properties file of a worker, whose `plugin.path` and Kafka clients are checked, too."""
    code = OK
    file = None if worker is None else Path(worker)
    checks_of_worker = (java_plugins.check_java_plugins(file), kafka_clients.check_kafka_clients(file))
    for checks in (machine.check_machine(), *checks_of_worker, terminal.check_terminal()):
        for result in checks:
            print(result, flush=True)
            if result.severity is CheckSeverity.BAD:
                code = PROBLEM
    return code

"""The command `headrace doctor`."""

from __future__ import annotations

from runtime.doctor import machine, terminal
from runtime.doctor.check_result import CheckSeverity

OK, PROBLEM = 0, 1


def main() -> int:
    """Runs every check and prints its result; the exit code is 1 if an installed part cannot work."""
    code = OK
    for checks in (machine.check_machine(), terminal.check_terminal()):
        for result in checks:
            print(result, flush=True)
            if result.severity is CheckSeverity.BAD:
                code = PROBLEM
    return code

"""The command line of the doctor."""

from __future__ import annotations

from runtime.doctor import machine, terminal
from runtime.doctor.finding import Level

HEALTHY, ILL = 0, 1


def main() -> int:
    """Print every finding as it is made; 1 when something that is installed cannot work."""
    code = HEALTHY
    for findings in (machine.findings(), terminal.findings()):
        for finding in findings:
            print(finding, flush=True)
            if finding.level is Level.BAD:
                code = ILL
    return code

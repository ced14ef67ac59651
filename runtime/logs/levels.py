"""Connect's names of log levels, with Python's numbers."""

from __future__ import annotations

import logging
from collections.abc import Mapping

ROOT = "root"

NUMBERS: Mapping[str, int] = {
    "OFF": 60,  # above everything that is logged
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": 5,
    "ALL": 1,
}


def name_of(number: int) -> str:
    """The name of a level; a number between two levels gets the name of the more verbose one."""
    return max((n for n in NUMBERS.items() if n[1] <= number), key=lambda n: n[1], default=("ALL", 1))[0]


def apply(levels: Mapping[str, str]) -> None:
    """Set the levels of loggers in this process."""
    logging.addLevelName(NUMBERS["TRACE"], "TRACE")
    for logger, level in levels.items():
        logging.getLogger(None if logger == ROOT else logger).setLevel(NUMBERS[level])

"""Log levels by Connect's names, and what they are to Python."""

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
    """The name of a level; of one between two names, the more verbose one's."""
    return max((n for n in NUMBERS.items() if n[1] <= number), key=lambda n: n[1], default=("ALL", 1))[0]


def apply(levels: Mapping[str, str]) -> None:
    """Set levels, by logger, in this process."""
    logging.addLevelName(NUMBERS["TRACE"], "TRACE")
    for logger, level in levels.items():
        logging.getLogger(None if logger == ROOT else logger).setLevel(NUMBERS[level])

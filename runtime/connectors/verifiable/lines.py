"""The lines of JSON that the verifiable connectors write to the log of their tasks."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import orjson


def log_line(logger: logging.Logger, data: Mapping[str, Any]) -> None:
    """Logs the data as a message that is one JSON object; values that JSON lacks become text."""
    logger.info("%s", orjson.dumps(data, default=str).decode())


def task_number(config: Mapping[str, str]) -> int:
    """The number of the task, which the connector sets as `id`."""
    return int(config.get("id", "0"))

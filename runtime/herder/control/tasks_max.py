"""`tasks.max`: the largest number of tasks that a connector may have (KIP-1004)."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config.definition import ConfigType
from runtime.api.config.types import parse
from runtime.api.errors import ConfigError
from runtime.host.port import REFUSED, HostError


class TooManyTasks(HostError):
    """A connector has generated more tasks than it may have. The message is Apache's."""

    def __init__(self, name: str, tasks: int, limit: int) -> None:
        message = (
            f"The connector {name} has generated {tasks} tasks, which is greater than {limit}, the maximum number of "
            "tasks it is configured to create. This behaviour should be considered a bug and is disallowed. If "
            "necessary, it can be permitted by reconfiguring the connector with 'tasks.max.enforce' set to false; "
            "however, this option will be removed in a future release of Kafka Connect."
        )
        super().__init__(REFUSED, message, f"org.apache.kafka.connect.runtime.TooManyTasksException: {message}\n")


def tasks_max(config: Mapping[str, str]) -> int:
    """The largest number of tasks, in a config without variables. ConfigError if the value is invalid."""
    number: int = parse("tasks.max", config.get("tasks.max", "1"), ConfigType.INT)
    if number < 1:
        raise ConfigError(f"Invalid value {number} for configuration tasks.max: Value must be at least 1")
    return number


def check_tasks_max(name: str, tasks: int, config: Mapping[str, str]) -> None:
    """TooManyTasks if these are more than `tasks.max`, unless `tasks.max.enforce` is false."""
    limit = tasks_max(config)
    if tasks > limit and config.get("tasks.max.enforce", "true").strip().lower() != "false":
        raise TooManyTasks(name, tasks, limit)

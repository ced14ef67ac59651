"""An instance of a connector in the plugin host, and the calls that start it and generate its task configs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.control.start_control import StartControl
from runtime.herder.control.tasks import Tasks
from runtime.herder.control.tasks_max import check_tasks_max, tasks_max
from runtime.host.port import ConnectorInfo
from runtime.model.states import TargetState
from runtime.storage.configs import StoredConnector

TaskConfigs = list[dict[str, str]]


@dataclass(slots=True, eq=False)
class Instance:
    """The configuration of an instance, and the state of its start."""

    config: Mapping[str, str] | None = None
    created: int = -1
    """StoredConnector.created: a connector that was deleted and created again with the same configuration needs another
    instance."""
    stopped: int = -1
    """StoredConnector.stopped: a connector that was stopped and resumed while its control loop was busy has no task
    configs, and needs another instance, too."""
    failed: bool = False
    at_rest: bool = False
    """The connector has failed and should not run now: its state remains FAILED, and resuming starts it again."""
    started: bool = False
    task_configs_failures: int = 0
    """How often task_configs() has failed in a row. The connector is FAILED, but its instance runs, and task_configs()
    is called again later."""
    pending: bool = False
    """The task configs must still be requested or stored."""
    reconfigure_again: bool = False
    """The connector requested new task configs while they were being generated."""
    tasks: int | None = None
    """The number of task configs that were stored last."""
    watched: bool = False
    """The stored task configs are not these; they are checked again later."""
    call: asyncio.Task[TaskConfigs] | None = None
    """The running start() and task_configs(), which take as long as the connector needs."""

    @classmethod
    def of(cls, stored: StoredConnector, *, failed: bool = False, at_rest: bool = False, pending: bool = False) -> Self:
        return cls(stored.start_config, stored.created, stored.stopped, failed=failed, at_rest=at_rest, pending=pending)

    def is_of(self, stored: StoredConnector) -> bool:
        return (self.config, self.created, self.stopped) == (stored.start_config, stored.created, stored.stopped)

    def lacks_tasks(self, stored: StoredConnector) -> bool:
        """Whether the connector should run, but other task configs are stored than it has generated: a stop that was
        interrupted between its two records has removed them."""
        runs = stored.target is TargetState.STARTED and self.is_of(stored) and self.started and not self.pending
        return runs and self.tasks not in (None, len(stored.tasks))

    @property
    def busy(self) -> bool:
        """Whether the connector's own code is running."""
        return self.call is not None and not self.call.done()

    def request_task_configs(self) -> None:
        """The connector requests new task configs."""
        self.reconfigure_again, self.pending = self.pending and self.call is not None, True

    def drop_call(self) -> None:
        """Stop waiting for the connector's code."""
        if self.call is not None and not self.call.cancel() and not self.call.cancelled():
            self.call.exception()  # retrieved, so that asyncio does not warn

    async def cancel(self) -> None:
        """As drop_call(), and waits until the cancelled call has ended, so that it sends nothing more to the host."""
        self.drop_call()
        if self.call is not None:
            await asyncio.wait({self.call})


class Starter:
    """Starts one connector's instances and generates their task configs. Event loop only."""

    def __init__(self, name: str, host: ResolvingHost, starts: StartControl, tasks: Tasks) -> None:
        self._name, self._host, self._starts, self._tasks = name, host, starts, tasks

    def begin(
        self, instance: Instance, info: ConnectorInfo, on_started: Callable[[], None]
    ) -> asyncio.Task[TaskConfigs]:
        """The call of this instance, as a task: starts the instance unless it is running, then generates its task
        configs. Raises ConfigError, TimeoutError, or the plugin host's HostError."""
        assert instance.config is not None
        work = self._starts.start(self._name, instance.config, lambda: self._bring_up(instance, info, on_started))
        instance.call = asyncio.create_task(work, name=f"start {self._name}")
        return instance.call

    async def _bring_up(self, instance: Instance, info: ConnectorInfo, on_started: Callable[[], None]) -> TaskConfigs:
        assert instance.config is not None
        if not instance.started:
            await self._host.start_connector(self._name, instance.config)
            instance.started = True
            on_started()
        config = await self._host.resolve_stored(self._name, instance.config)
        self._tasks.check(info, config)
        configs = await self._host.task_configs(self._name, tasks_max(config))
        check_tasks_max(self._name, len(configs), config)
        return configs

"""The verbs for the workers of a cluster: list and describe them, cordon, uncordon and drain."""

from __future__ import annotations

import time
from typing import Any

from tui import model
from tui.client.workers import ACTIVE, DRAINED, DRAINING, ONLY_OURS, ClusterWorker, ClusterWorkers, cluster_workers
from tui.commands.arguments import duration, flag, option, positional, positionals
from tui.commands.base import ChangingCommand, Command, Danger, refuse
from tui.commands.context import CommandCluster, CommandContext
from tui.commands.result import Cell, Result, Table, TargetOutcome, confirmation
from tui.commands.targets import change_each, for_each, require_confirmation
from tui.errors import CONFLICT, DONE, NOT_FOUND, NotFound, TimedOut
from tui.formatting import counted, format_duration, megabytes

Json = Any
COLUMNS = (
    "WORKER",
    "STATE",
    "LEADER",
    "VERSION",
    "SLOTS",
    "LOAD",
    "MEMORY",
    "CONNECTORS",
    "TASKS",
    "IMPLEMENTATION",
    "URL",
)
WAIT_INTERVAL = 0.5  # seconds
DEFAULT_WAIT = 120.0  # seconds


class GetWorkers(Command):
    """List the workers of a cluster with their states, load, and numbers of connectors and tasks.

    For other Connect workers, the list has the workers that the statuses of connectors name.
    """

    verb = "get workers"

    async def run(self, context: CommandContext) -> Result:
        workers = await cluster_workers(context.cluster.connect)
        if not workers.reported:
            context.terminal.report(f"derived from the statuses of connectors: {ONLY_OURS}")
        if workers.rebalancing:
            context.terminal.report("the group is rebalancing")
        if text := waiting_text(workers, time.time()):
            context.terminal.report(text)
        if text := core_text(workers):
            context.terminal.report(text)
        raw = (
            workers.raw if workers.reported else {"workers": [_as_json(worker) for worker in workers.workers.values()]}
        )
        rows = tuple(_row(worker) for worker in workers.workers.values())
        wide = frozenset({"IMPLEMENTATION", "URL"})
        return Result(raw, Table(COLUMNS, rows, wide), names=tuple(workers.workers))


class DescribeWorker(Command):
    """Show a worker with its connectors and tasks."""

    verb = "describe worker"

    worker = positional("WORKER", "as listed by `get workers`")

    async def run(self, context: CommandContext) -> Result:
        workers = await cluster_workers(context.cluster.connect)
        worker = _known(workers, self.worker)
        facts = zip(COLUMNS, _row(worker), strict=True)
        lines = [f"{name.lower():<15} {value}" for name, value in facts if value not in ("", None)]
        units: dict[str, list[str]] = {name: ["connector"] for name in worker.connectors}
        for name, task in worker.tasks:
            units.setdefault(name, []).append(f"task {task}")
        lines += ["", *(f"{name}: {', '.join(parts)}" for name, parts in sorted(units.items()))]
        raw = next(
            (w for w in (workers.raw or {}).get("workers", ()) if w["worker_id"] == worker.worker_id), _as_json(worker)
        )
        return Result(raw, text="\n".join(lines).rstrip(), names=(worker.worker_id,))


class EachWorker(ChangingCommand):
    """One request per worker. `done` is the message of a success."""

    noun = "worker"
    done = ""

    workers = positionals("WORKER", "as listed by `get workers`")

    async def run(self, context: CommandContext) -> Result:
        if self.dry_run:
            workers = await cluster_workers(context.cluster.connect)
            return confirmation([TargetOutcome(name, *self.would(workers, name)) for name in self.workers])
        if self.danger:
            require_confirmation(context.terminal, self.yes, self._verb, self.workers)
        return await change_each(self.workers, lambda name: self.change(context, name))

    @property
    def _verb(self) -> str:
        return self.verb.partition(" ")[0]

    async def change(self, context: CommandContext, name: str) -> TargetOutcome:
        """Sends the request for one worker. Raises HeadraceError."""
        try:
            await context.cluster.connect.change_worker(name, self._verb, context.cluster.change_store.origin(""))
        except NotFound as error:
            if not error.message.startswith("HTTP 404"):
                raise
            raise NotFound(f"this cluster cannot {self._verb} workers", 404, ONLY_OURS) from None
        return TargetOutcome(name, self.done)

    def would(self, workers: ClusterWorkers, worker_id: str) -> tuple[str, int]:
        """The message of a dry run, and its exit code."""
        try:
            worker = _known(workers, worker_id)
        except NotFound as error:
            return error.message, NOT_FOUND
        return self.would_change(workers, worker) if workers.reported else (ONLY_OURS, NOT_FOUND)

    def would_change(self, workers: ClusterWorkers, worker: ClusterWorker) -> tuple[str, int]:
        """As `would`, for a worker of the group."""
        return f"would be {self.done}, now {worker.state}", DONE


class Cordon(EachWorker):
    """Cordon workers: they keep their connectors and tasks, and receive no others."""

    verb, done = "cordon worker", "cordoned"


class Uncordon(EachWorker):
    """Uncordon workers: they receive connectors and tasks again."""

    verb, done = "uncordon worker", "uncordoned"


class Drain(EachWorker):
    """Drain workers: their connectors and tasks move to other workers. `uncordon` ends it.

    --wait returns when nothing runs on the workers any more, so that they can be stopped.
    """

    verb, done = "drain worker", "draining"
    danger = Danger.ASK

    wait = flag("--wait", help="wait until nothing runs on the workers")
    timeout = option("--timeout", metavar="TIME", help="total limit of --wait; default 2m", convert=duration)

    def check(self) -> None:
        refuse(self.timeout is not None and not self.wait, "--timeout needs --wait")

    def would_change(self, workers: ClusterWorkers, worker: ClusterWorker) -> tuple[str, int]:
        if all(other.state != ACTIVE for other in workers.workers.values() if other is not worker):
            return "no other worker accepts its connectors and tasks", CONFLICT
        if worker.state in (DRAINING, DRAINED):
            return f"is already {worker.state}", DONE
        return f"would be drained: {units_text(worker)} would move to other workers", DONE

    async def run(self, context: CommandContext) -> Result:
        result = await super().run(context)
        if not self.wait or self.dry_run:
            return result
        deadline = context.clock() + (DEFAULT_WAIT if self.timeout is None else self.timeout)
        failed = [outcome for outcome in result.outcomes if outcome.failed]
        draining = [outcome.name for outcome in result.outcomes if not outcome.failed]
        drained = await for_each(draining, lambda name: self._until_drained(context, name, deadline))
        return confirmation([*failed, *drained.outcomes])

    async def _until_drained(self, context: CommandContext, name: str, deadline: float) -> TargetOutcome:
        seen = 0
        while remaining := await _remaining(context.cluster, name):
            left = counted(remaining, "connector or task is", "connectors and tasks are") + " left"
            if remaining != seen:
                context.terminal.report(f"{name}: {left}")
                seen = remaining
            if context.clock() >= deadline:
                raise TimedOut(f"not drained in time: {left}")
            await context.cluster.connect.sleep(WAIT_INTERVAL)
        return TargetOutcome(name, "drained")


async def _remaining(cluster: CommandCluster, worker_id: str) -> int:
    """The number of connectors and tasks that are assigned to a worker, or still run there."""
    worker = (await cluster_workers(cluster.connect)).workers.get(worker_id)
    if worker is None:
        return 0
    assigned = {(name, None) for name in worker.connectors} | set(worker.tasks)
    running = set()
    for name, status in (await cluster.connect.statuses()).items():
        connector = model.connector(name, status)
        running |= {(name, t.id) for t in connector.tasks if t.worker == worker_id and t.state != "UNASSIGNED"}
    return len(assigned | running)


def _known(workers: ClusterWorkers, worker_id: str) -> ClusterWorker:
    worker = workers.workers.get(worker_id)
    if worker is None:
        known = ", ".join(workers.workers) or "none"
        raise NotFound(f"Worker {worker_id} is not in the cluster; its workers are {known}", 404)
    return worker


def _row(worker: ClusterWorker) -> tuple[Cell, ...]:
    load = None if worker.load is None else f"{worker.load:.1f}"
    memory = None if worker.memory is None else megabytes(worker.memory)
    leader = "leader" if worker.leader else ""
    counts = (len(worker.connectors), len(worker.tasks))
    return (
        worker.worker_id,
        worker.state,
        leader,
        worker.version,
        worker.slots,
        load,
        memory,
        *counts,
        worker.implementation,
        worker.url,
    )


def _as_json(worker: ClusterWorker) -> Json:
    tasks = [{"connector": name, "task": task} for name, task in worker.tasks]
    return {"worker_id": worker.worker_id, "connectors": list(worker.connectors), "tasks": tasks}


def units_text(worker: ClusterWorker) -> str:
    """For example `2 connectors and 5 tasks`."""
    return f"{counted(len(worker.connectors), 'connector')} and {counted(len(worker.tasks), 'task')}"


def core_text(workers: ClusterWorkers) -> str:
    """The slots that wait for a core of a Spark cluster; empty if there are none."""
    without = {name: worker.slots_without_core for name, worker in workers.workers.items() if worker.slots_without_core}
    if not without:
        return ""
    total = sum(map(len, without.values()))
    where = ", ".join(f"{name} (slot {', '.join(map(str, slots))})" for name, slots in without.items())
    return f"{counted(total, 'slot waits', 'slots wait')} for a core of the Spark cluster: {where}"


def waiting_text(workers: ClusterWorkers, now: float) -> str:
    """The units that wait for a worker that has left; empty if there are none."""
    if not workers.waiting:
        return ""
    left = max(0.0, max(workers.waiting.values()) - now)
    number = counted(len(workers.waiting), "connector or task waits", "connectors and tasks wait")
    return f"{number} for a worker that has left, for at most {format_duration(left)}"

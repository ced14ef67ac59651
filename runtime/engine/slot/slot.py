"""A slot: one long-running Spark task whose Python process runs many Connect tasks, each in a thread."""

from __future__ import annotations

import faulthandler
import importlib
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TextIO

from runtime.engine.protocol.channel import BlockingChannel, UnixConnection
from runtime.engine.protocol.descriptors import NoRoomError, check_room, room
from runtime.engine.protocol.lease import Lease, dump_stacks_on_request
from runtime.engine.protocol.lease_cell import LeaseCell
from runtime.engine.protocol.messages import VERSION, AliveMessage, CallPart, RunPart, ToSlot
from runtime.engine.protocol.settings import SlotSettings
from runtime.engine.protocol.task_specs import Key, about, key_of, spec_from_json
from runtime.engine.slot.channel_host import ChannelHost, SlotLogHandler
from runtime.engine.slot.java_tasks import JavaTasks
from runtime.engine.slot.outbox import Outbox, alive_message
from runtime.engine.slot.polled_reports import ErrorReports, MeterReports
from runtime.engine.slot.task_thread import Runner, RunnerFactory, TaskThread
from runtime.engine.slot.watchdog import Watchdog, stack_of
from runtime.kafka.clients import open_clients
from runtime.model.rate_limit import RateLimit
from runtime.model.task_spec import TaskSpec
from runtime.pipeline.port import SlotHost
from runtime.pipeline.task.control import PluginCall
from runtime.pipeline.task.log import set_levels
from runtime.plugins.activation import enter
from runtime.system.allowed_folders import limit_files
from runtime.system.cgroup import end_first
from runtime.system.processes import end_with_parent
from runtime.system.threads import run_apart

CONNECT_TIMEOUT = 5.0
NO_THREAD = (
    "The system lets this slot start no thread for another task: raise the limit (pids.max of the control group: "
    "TasksMax= of systemd, --pids-limit of containers; or ulimit -u), or use more workers"
)
_log = logging.getLogger(__name__)


def serve(settings: SlotSettings, rows: Iterable[object]) -> None:
    """The body of the Spark task. It never returns: leftover threads must not outlive it in a reused process."""
    os.setsid()  # a plugin that signals its process group reaches this slot alone
    end_with_parent()
    end_first()
    faulthandler.enable()
    factory = load_runner(settings.runner)
    channel = BlockingChannel(UnixConnection(settings.socket, CONNECT_TIMEOUT))
    try:
        try:
            slot = Slot(settings, channel, factory, LocalPlace())  # with a lease, opened after the hello
        except OSError as error:  # the disk is full, say
            channel.send({"op": "unable", "slot": settings.slot, "reason": f"{settings.folder}: {error.strerror}"})
            raise
        channel.send(
            {
                "op": "hello",
                "version": VERSION,
                "generation": settings.generation,
                "slot": settings.slot,
                "attempt": settings.attempt,
                "room": room(),
            }
        )
        slot.run()
    except BaseException:
        traceback.print_exc()  # written to the executor's log, since the channel may not work
    os._exit(0)


def load_runner(name: str) -> RunnerFactory:
    """The class that `name` ("package.module:Class") refers to. Its module imports the pipeline and the Kafka
    client."""
    module, _, attribute = name.partition(":")
    factory: RunnerFactory = getattr(importlib.import_module(module), attribute)
    return factory


class SlotPlace(Protocol):
    """What depends on the machine of a slot: that of its worker or another one."""

    def hold_lease(self, cell: LeaseCell, stacks: TextIO) -> None:
        """Hold the lease from now on. OSError if the worker does not grant it."""

    def localized(self, spec: TaskSpec, archives: Mapping[str, str]) -> TaskSpec:
        """The specification with the paths of this machine; may take time. ConnectError if a file is missing."""

    def report_former(self, log: Callable[[str], None]) -> None:
        """Log what former slots have left here."""


class LocalPlace:
    """On the worker's machine the worker writes the lease, the driver ends the process, and all files are here."""

    def hold_lease(self, cell: LeaseCell, stacks: TextIO) -> None:
        pass

    def localized(self, spec: TaskSpec, archives: Mapping[str, str]) -> TaskSpec:
        return spec

    def report_former(self, log: Callable[[str], None]) -> None:
        pass


class Slot:
    """Reads messages from the channel until it closes; the reading thread waits for nothing else."""

    def __init__(
        self, settings: SlotSettings, channel: BlockingChannel, factory: RunnerFactory, place: SlotPlace
    ) -> None:
        self._settings, self._place = settings, place
        self._archives: dict[Key, Mapping[str, str]] = {}
        self._channel = channel
        self._factory = factory
        self._tasks: dict[Key, TaskThread] = {}
        self._stack = dump_stacks_on_request(settings.folder, settings.slot, os.getpid())
        self._cell = LeaseCell.create(settings.folder, settings.slot, os.getpid())
        self._lease = Lease(self._cell)
        self._outbox = Outbox(channel.send, settings.lease_ttl / 3, alive=self._alive)
        self._java = JavaTasks(settings, lambda: list(self._tasks.values()), self._outbox.put)
        self._host = ChannelHost(self._outbox, self._lease, lambda: channel.closed)
        self._errors = ErrorReports(lambda: list(self._tasks.values()), self._outbox.put)
        self._meters = MeterReports(lambda: list(self._tasks.values()), self._outbox.put)

    def run(self) -> None:
        """Handle messages until the worker closes the channel, or refuses the slot."""
        welcome = self._channel.receive()
        if welcome is None or welcome["op"] != "welcome":
            reason = welcome["reason"] if welcome is not None and welcome["op"] == "refused" else "not needed"
            print(f"The worker has refused slot {self._settings.slot}: {reason}", file=sys.stderr)
            return
        self._place.hold_lease(self._cell, self._stack)
        self._route_logs()
        self._outbox.start()
        self._place.report_former(lambda text: self._outbox.log("ERROR", __name__, text, ""))
        Watchdog(lambda: list(self._tasks.values()), self._stuck, welcome["stuck_after"]).start()
        self._errors.start()
        self._meters.start()
        self._java.start()
        while (message := self._channel.receive()) is not None:
            self._handle(message)

    def _handle(self, message: ToSlot) -> None:
        match message["op"]:
            case "start":
                self._start(spec_from_json(message["spec"]), message["archives"])
            case "stop":
                self._with_task(message, TaskThread.stop)
            case "revoke":
                self._with_task(message, lambda task: task.revoke(lambda: self._revoked(task)))
            case "drain":
                for task in list(self._tasks.values()):
                    task.move(message["reason"])
            case "reset_topics":
                self._with_task(message, lambda task: task.reset_topics(message["at"]))
            case "pause":
                self._with_task(message, lambda task: task.pause(message["paused"]))
            case "limit":
                limit = RateLimit(message["records"], message["bytes"])
                self._with_task(message, lambda task: task.limit(limit))
            case "offsets":
                self._host.offsets_stored(message["number"], message["error"])
            case "offsets_read":
                self._host.offsets_read(message["number"], message["error"] or message["offsets"])
            case "start_confirmed":
                self._host.start_confirmed(message)
            case "levels":
                set_levels(message["levels"])
                self._java.set_levels(message["levels"])
            case "logins":
                open_clients.renew(message["logins"])
            case "stack":
                self._with_task(message, lambda task: self._send_stack(task, message["number"]))
            case "end_java":
                self._java.end(message["reason"])
            case "leave":
                os._exit(0)
            case other:  # of a newer worker
                _log.warning("The slot ignores an unknown message from the worker: %s", other)

    def _route_logs(self) -> None:
        root = logging.getLogger()
        root.addHandler(SlotLogHandler(self._host))
        root.setLevel(logging.INFO)

    def _start(self, spec: TaskSpec, archives: Mapping[str, str]) -> None:
        self._outbox.put({"op": "starting", **about(spec)})
        try:
            check_room()
        except NoRoomError as error:
            self._host.no_room(spec, str(error))
            return
        self._archives[spec.id, spec.epoch] = archives
        task = TaskThread(spec, self._host, self._create, self._ended)
        self._tasks[spec.id, spec.epoch] = task
        try:
            task.start()
        except RuntimeError as error:
            del self._tasks[spec.id, spec.epoch], self._archives[spec.id, spec.epoch]
            self._host.no_room(spec, f"{NO_THREAD} ({error})")

    def _create(self, spec: TaskSpec, host: SlotHost) -> Runner:
        """On the task's thread, since downloading and unpacking archives takes time."""
        spec = self._place.localized(spec, self._archives.pop((spec.id, spec.epoch)))
        sys.path.extend(folder for folder in spec.plugin_path if folder not in sys.path)
        enter(spec.environment)
        limit_files(spec.file_paths)
        return self._factory(spec, host)

    def _ended(self, spec: TaskSpec) -> None:
        if (task := self._tasks.pop((spec.id, spec.epoch), None)) is not None:
            self._errors.report(task)
            self._meters.report(task)
        if not self._lease.over:  # otherwise the task counts as lost with this slot, which is killed soon
            self._host.ended(spec)

    def _revoked(self, task: TaskThread) -> None:
        self._outbox.put({"op": "revoked", **about(task.spec)})

    def _stuck(self, task: TaskThread, call: PluginCall | None) -> None:
        self._outbox.put({"op": "stuck", **about(task.spec), **_described(call)})

    def _alive(self) -> AliveMessage:
        return alive_message(self._java.memory, self._java.heap)

    def _send_stack(self, task: TaskThread, number: int) -> None:
        if self._java.is_running:  # which may not answer
            run_apart(lambda: self._stack_of(task, number), "stack")
        else:
            self._stack_of(task, number)

    def _stack_of(self, task: TaskThread, number: int) -> None:
        call = task.call
        stack = stack_of(task.thread) if call is None or call.stack is None else call.stack()
        stack += self._java.stacks(task.thread or 0)
        self._outbox.put({"op": "stack", **about(task.spec), "number": number, "stack": stack, **_described(call)})

    def _with_task(self, message: RunPart, action: Callable[[TaskThread], None]) -> None:
        task = self._tasks.get(key_of(message))
        if task is not None:  # the task may have ended meanwhile
            action(task)


def _described(call: PluginCall | None) -> CallPart:
    """The call as part of a message."""
    return {"call": call.method if call else "", "seconds": round(time.monotonic() - call.since, 3) if call else 0.0}

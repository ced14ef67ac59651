"""The slots of a worker: their driver, connections and leases, and the loss of slots with their tasks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from runtime.config.spark_cluster import bind_address, driver_host
from runtime.connectors.spark.session_client import SOCKET
from runtime.engine.placement.roster import Roster
from runtime.engine.placement.slot_link import RemoteProcess, SlotLink, TaskRun
from runtime.engine.placement.start_history import StartHistory
from runtime.engine.placement.suspects import DRIVER_GRACE
from runtime.engine.port import EngineListener, SlotInfo
from runtime.engine.protocol.lease import DUMP_SIGNAL, stack_file
from runtime.engine.protocol.lease_cell import GUARD_TIME, LeaseCell
from runtime.engine.protocol.messages import ExecutorsMessage, FromSlot, SlotEndedMessage, TaskReport
from runtime.engine.protocol.remote import RemoteAccess
from runtime.engine.protocol.settings import EngineSettings, session_link, session_socket
from runtime.engine.worker.archives import WorkerArchives
from runtime.engine.worker.driver_keeper import DriverKeeper
from runtime.engine.worker.lease_granter import LeaseGranter
from runtime.engine.worker.remote_server import RemoteServer
from runtime.engine.worker.server import SlotServer
from runtime.engine.worker.slot_watch import CoreWaits, LostLinks, SlotWatch
from runtime.engine.worker.worker_folder import make_folder, socket_path
from runtime.model.states import State, TaskId
from runtime.model.task_spec import TaskSpec
from runtime.system.cgroup import Cgroup, ReachedLimits
from runtime.system.processes import is_below

_log = logging.getLogger(__name__)

MAX_STACK = 64 * 1024  # characters of a stack that are logged


class Slots:
    """Event loop only. `place` places the waiting tasks; `report` gets the slots' messages about their tasks; `lease`
    returns the seconds for which this worker's membership in its group is still confirmed."""

    def __init__(
        self,
        settings: EngineSettings,
        roster: Roster,
        listener: EngineListener,
        lease: Callable[[], float],
        clock: Callable[[], float],
        place: Callable[[], None],
        report: Callable[[SlotLink, TaskReport], None],
        group: Cgroup | None = None,
    ) -> None:
        self._settings, self._roster, self._listener = settings, roster, listener
        self._lease, self._clock = lease, clock
        self._place, self._report = place, report
        self._levels: dict[str, str] = {}
        self._logins: dict[str, Mapping[str, Any]] = {}
        self._held = False  # whether the lease was held at the last check
        self._keeping: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._closing = False
        before = GUARD_TIME if settings.local else 0.0  # slots elsewhere end by themselves
        self.granter = LeaseGranter(lease, settings.lease_ttl / 10, settings.longest_lease, clock, before)
        self._folder = ""
        self._unable = ""  # the last slot that could not run
        self._limits = ReachedLimits(group)
        self._lost = LostLinks(clock, self._lose)
        self._core_waits = CoreWaits(roster, settings.master, clock, self._report_unassigned)
        self._secret = secrets.token_hex(32)
        self._remote: RemoteServer | None = None  # None in local mode
        self._archives: WorkerArchives | None = None
        self.server = SlotServer(self, clock)
        self.driver: DriverKeeper | None = None

    @property
    def is_remote(self) -> bool:
        """Whether slots run on the executors of a cluster."""
        return not self._settings.local

    async def archives_of(self, spec: TaskSpec) -> Mapping[str, str]:
        """The digests of the archives that a task needs on another machine, by path. OSError if a file cannot be
        read."""
        assert self._archives
        return await self._archives.of(spec)

    def infos(self) -> Sequence[SlotInfo]:
        """All connected slots, by number."""
        return [link.info() for _, link in sorted(self._roster.links.items())]

    @property
    def without_core(self) -> Sequence[int]:
        """The slots that wait for a core of the cluster."""
        return self._core_waits.slots

    @property
    def trouble(self) -> str:
        """Why no slot can start; empty before start(), and while a slot is up."""
        if self.driver is None:
            return ""
        return self.driver.trouble or ("" if self._roster.links else self._unable)

    def revoke_leases(self) -> None:
        """End all leases that have been granted. Thread-safe."""
        self.granter.revoke_granted()

    def may_run(self) -> bool:
        """Whether the lease is held; reports changes to the listener."""
        held = self._lease() > 0
        if held != self._held:
            self._held = held
            self._listener.lease_changed(held)
        return held

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Set the log levels of present and future slots, by logger."""
        self._levels = dict(levels)
        for link in self._roster.links.values():
            link.send({"op": "levels", "levels": self._levels})

    def renew_logins(self, logins: Mapping[str, Mapping[str, Any]]) -> None:
        """Give the Kafka clients of present and future slots these credentials, by login."""
        self._logins |= logins
        for link in self._roster.links.values():
            link.send({"op": "logins", "logins": self._logins})

    def request_slots(self) -> None:
        """Tell the driver which slots to keep running."""
        if self.driver is not None:
            self.driver.request_slots(self._roster.extras.numbers, self._roster.extras.executors)

    # Lifecycle

    async def start(self) -> None:
        """Open the channel and start the driver in the background."""
        self._folder = make_folder()
        await self.server.start(socket_path(self._folder))
        os.environ[SOCKET] = str(session_link(socket_path(self._folder)))  # for the plugin host and previews
        self.granter.start()
        access = await self._open_port() if self.is_remote else None
        self.driver = DriverKeeper(
            self._settings, self._folder, self.driver_ended, self._driver_line, self.driver_report,
            access, self._secret,
        )  # fmt: skip
        self.request_slots()
        self._keeping = asyncio.create_task(self.driver.run())
        self._watching = asyncio.create_task(self._watch())

    async def _open_port(self) -> RemoteAccess:
        folder, conf = Path(self._folder), self._settings.spark_conf
        self._archives = WorkerArchives(folder / "archives", self._roster.archives)
        self._remote = RemoteServer(
            self, self._clock, self._secret, self._archives,
            lambda generation: session_socket(socket_path(self._folder), generation),
        )  # fmt: skip
        bind, host = bind_address(conf), driver_host(conf)
        access = await self._remote.start(bind, host, self._settings.slot_port, folder)
        _log.info("Slots on other machines connect to %s:%d", access.host, access.port)
        return access

    async def close(self) -> None:
        """End every slot, then the driver. No process remains."""
        self._closing = True
        for link in self._roster.links.values():
            link.leave()
        if self.driver is not None and self._keeping is not None and self._watching is not None:
            self._watching.cancel()
            self.driver.close()
            await self._keeping
        await self.server.close()
        for link in list(self._roster.links.values()):
            self.drop(link, "the engine is closing", kill=True)
        await self._lost.none_left()
        if self._remote is not None:
            await self._remote.close()
        self.granter.close()
        if os.environ.get(SOCKET) == str(session_link(socket_path(self._folder))):
            del os.environ[SOCKET]
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _watch(self) -> None:
        watch = SlotWatch(self._roster, self._settings, self._clock)
        while True:
            await asyncio.sleep(watch.every)
            try:
                self.check(watch)
            except Exception:  # slots that hang later must still be found
                _log.exception("A check of the slots failed")

    def check(self, watch: SlotWatch) -> None:
        """Ends slots that have lapsed, do not answer or have grown too large."""
        self.check_leases()
        self._log_limits()
        for link in watch.lapsed():
            self.drop(link, "its lease has expired", kill=True)
        for link in watch.responding_again():
            self._discard_stack(link)
        for link, silence in watch.dead():
            self.drop(link, f"it has not answered for {silence:.1f} s", kill=True)
        for link in watch.fallen_silent():  # after dead(): this worker may have been frozen, and read no responses
            link.process.signal(DUMP_SIGNAL)
        for link, limit in watch.too_large():
            used = f"used {link.memory >> 20} MB of memory, {limit}"
            if watch.has_large_jvm(link):
                reason = (
                    f"The slot {used}; its task host JVM, which used {link.java_memory >> 20} MB of that, was ended"
                )
                link.send({"op": "end_java", "reason": reason})
                link.memory, link.java_memory = link.memory - link.java_memory, 0  # until the slot reports it again
            else:
                self.drop(link, f"it {used}", kill=True)
        watch.replace_stuck()
        watch.check_extras()
        if self.driver is not None and (late := watch.not_connecting(self.driver.ready)):
            self.driver.restart_slots(late)
        for task in watch.check_waiting({*self._core_waits.tasks}):
            self._report_unassigned(task, None)
        self._core_waits.check()
        watch.lift_limits()
        self.request_slots()

    def _report_unassigned(self, task: TaskRun, reason: str | None) -> None:
        self._listener.task_state(task.spec.id, task.spec.epoch, State.UNASSIGNED, reason)

    # SlotLinkListener

    def is_slot(self, pid: int) -> bool:
        """On this machine slots descend from this worker's driver; elsewhere Spark starts them."""
        assert self.driver
        return not self._settings.local or (self.driver.pid is not None and is_below(pid, self.driver.pid))

    def slot_unable(self, slot: int, reason: str) -> None:
        """A slot could not start, and Spark starts it again: health tells why tasks wait."""
        text = f"Slot {slot} cannot start: {reason}"
        if text != self._unable:
            _log.error("%s", text)
        self._unable = text

    def link_up(self, link: SlotLink) -> bool:
        """Register a slot that has connected; False if it is not needed."""
        assert self.driver
        if not self._is_expected(link, self.driver.generation):
            return False
        former = self._roster.links.get(link.slot)
        if former is not None:
            self.drop(former, "another process has replaced it", kill=True)
            if not self._is_expected(link, self.driver.generation):  # the slot was reserved for tasks that are lost now
                return False
        elif not self._roster.links:
            self._await_missing()
        try:
            cell = link.cell or LeaseCell.open(self.driver.folder, link.slot, link.process.pid)
        except OSError as error:
            _log.error("This worker cannot renew the lease of slot %d: %s", link.slot, error)
            return False
        link.cell = cell
        self._unable = ""
        self._roster.link_up(link)
        link.send({"op": "welcome", "stuck_after": self._settings.stuck_after})
        if self._levels:
            link.send({"op": "levels", "levels": self._levels})
        if self._logins:
            link.send({"op": "logins", "logins": self._logins})
        self.granter.add(cell)
        where = f" on {link.process.host}" if isinstance(link.process, RemoteProcess) else ""
        _log.info("Slot %d is up%s (process %d, attempt %d)", link.slot, where, link.process.pid, link.attempt)
        self._listener.slots_changed()
        if len(self._roster.links) >= self._settings.slots:
            self.driver.record_archive()
        return True

    def _is_expected(self, link: SlotLink, generation: int) -> bool:
        return not self._closing and self._roster.extras.is_wanted(link.slot) and link.generation == generation

    def link_message(self, link: SlotLink, message: FromSlot) -> None:
        """Handle a message of a slot."""
        match message["op"]:
            case "alive":
                link.memory, link.heard = message["memory"], self._clock()
                link.java_memory, link.java_heap = message["java_memory"], message["java_heap"]
                self.check_leases()
            case "log":
                self._listener.log(message["level"], message["logger"], message["message"], message["context"])
            case _:
                self._report(link, message)

    def link_down(self, link: SlotLink) -> None:
        """The connection of a slot has closed."""
        if self._roster.links.get(link.slot) is link:
            link.hung_up = True
            self._log_limits()
            self.drop(link, "its connection has closed" if link.is_remote else "its process has ended")

    def check_leases(self) -> None:
        """Tasks are placed only on slots that have a lease: a task without one ends immediately. Slots that connected
        while the membership was not confirmed get their first lease here, as soon as it is confirmed again."""
        held, changed = self.may_run(), False
        if held:
            self.granter.renew()
        now = self._clock()
        for link in self._roster.links.values():
            leased = held and link.granted(now)
            changed |= link.leased != leased
            link.leased = leased
        if changed:
            self._place()

    def _log_limits(self) -> None:
        for text in self._limits.look():
            _log.error("%s", text)

    def _await_missing(self) -> None:
        """Missing slots are expected soon: tasks wait for them briefly, then the connected slots take all tasks."""
        self._roster.missing_slot()
        asyncio.get_running_loop().call_later(self._settings.slot_wait + 0.01, self._place)

    # Losses

    def drop(self, link: SlotLink, reason: str, kill: bool = False, ended: bool = False) -> None:
        """Remove a slot; every task on it is lost. `ended`: its process has certainly ended."""
        del self._roster.links[link.slot]
        link.writer.close()
        link.had_no_lease = link.lapsed(self._clock())
        if link.cell is not None:
            self.granter.revoke(link.cell)
        if kill:
            link.process.signal(signal.SIGKILL)
        link.process.close()
        if ended or not link.is_remote or not link.tasks:
            self._lose(link, reason)
        elif seconds := self._lost.hold(link, reason):
            _log.warning(
                "The connection to slot %d on %s was lost: %s. Its %d tasks start elsewhere when Spark reports the end "
                "of its process, or when its lease has ended, in %.1f s",
                link.slot, cast("RemoteProcess", link.process).host, reason, len(link.tasks), seconds,
            )  # fmt: skip

    def _lose(self, link: SlotLink, reason: str) -> None:
        """The process of a slot has ended, or is about to on this machine: its tasks may start elsewhere."""
        link.cell = None  # a failed task may keep the link alive, but not the shared memory
        if not link.tasks and not self._roster.extras.is_wanted(link.slot):
            _log.info("Slot %d has ended; it was no longer needed", link.slot)
            return
        lost = self._roster.lose_tasks(link)
        if self._closing:
            return
        _log.warning("Slot %d was lost with %d tasks: %s", link.slot, len(lost), reason)
        if link.had_no_lease or not self.may_run():  # no task is at fault
            _log.info("Slot %d had no lease: this worker's membership in its group was not confirmed", link.slot)
        elif link.starved:
            _log.warning("Slot %d did not answer because this machine has too few processors for its load", link.slot)
        elif not link.is_remote or link.process_ended:  # otherwise its executor was lost
            self._suspect(link)
            self._report_stack(link)
        self._await_missing()
        self._listener.slots_changed()
        for task in lost:
            reason_of_task = f"slot {link.slot} was lost: {reason}"
            self._listener.task_lost(task.spec.id, task.spec.epoch, task.member_id, reason_of_task)

    def _report_stack(self, link: SlotLink) -> None:
        """Log the stacks of a slot that did not answer."""
        file = self._stack_file(link)
        with contextlib.suppress(OSError):
            if stack := file.read_text(errors="replace"):
                text = f"Slot {link.slot} did not answer. Stacks of its threads:\n{stack[-MAX_STACK:]}"
                self._listener.log("ERROR", __name__, text, "")
            file.unlink()

    def _discard_stack(self, link: SlotLink) -> None:
        """The slot answers again: a later loss must not be reported with these stacks."""
        with contextlib.suppress(OSError):
            os.truncate(self._stack_file(link), 0)

    def _stack_file(self, link: SlotLink) -> Path:
        assert self.driver
        return stack_file(self.driver.folder, link.slot, link.process.pid)

    def _suspect(self, link: SlotLink) -> None:
        suspects = self._roster.slot_died(link)
        if suspects:  # logged later: the driver may have ended, with all its slots
            asyncio.get_running_loop().call_later(DRIVER_GRACE, self._log_suspects, suspects)

    def _log_suspects(self, suspects: Sequence[TaskId]) -> None:
        kept = [str(task) for task in suspects if self._roster.suspects.cell(task, self._clock()) is not None]
        if kept:
            more = f" and {len(kept) - 5} more" if len(kept) > 5 else ""
            _log.warning("Slots of %s%s keep dying: these tasks are isolated for now", ", ".join(kept[:5]), more)

    def driver_ended(self) -> None:
        """The driver and its slots have ended."""
        self._log_limits()
        for link in list(self._roster.links.values()):
            self.drop(link, "Spark's driver has ended", kill=True)
        self._core_waits.changed(())
        self._roster.suspects.driver_ended(self._clock())
        self._roster.starts = StartHistory()

    def driver_report(self, report: SlotEndedMessage | ExecutorsMessage) -> None:
        """The driver reports on its executors and on the ends of slots."""
        assert self.driver
        if report["op"] == "executors":
            self._executors_changed(report)
        elif self.is_remote:
            generation, slot, attempt = self.driver.generation, report["slot"], report["attempt"]
            link = self._roster.links.get(slot)
            if link is not None and link.is_attempt(generation, slot, attempt):
                link.process_ended = True
                self.drop(link, "its process has ended", ended=True)
            else:
                self._lost.ended(generation, slot, attempt)

    def _executors_changed(self, report: ExecutorsMessage) -> None:
        for slot in report["leaving"]:
            link = self._roster.links.get(slot)
            if link is not None and not link.draining:
                _log.warning("Slot %d is drained: Spark is decommissioning its executor", slot)
                link.drain("the executor of its slot is being decommissioned")
        self._roster.slots_without_core(self._core_waits.changed(report["waiting"]))
        self._place()

    def _driver_line(self, level: str, line: str) -> None:
        self._listener.log(level, "runtime.engine.driver.driver", line, "")

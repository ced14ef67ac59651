"""The group of a distributed worker: turns assignments into what this worker runs, and leads if it is the leader.

    network thread            event loop
    join  ◄──────────────────  rejoin(): the connectors or tasks that exist have changed
    lead() ── asks for ──────► the view: configurations, previous owners, departures, cordons
    assignment ──────────────► read the config topic up to it ─► units start and stop ─► stopped(): join again

A worker that is alone in its group adopts new units without a rebalance (`Ownership.adopt`), so that creating a
connector costs nothing more than without a group."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from runtime.herder.group.assigned_units import AssignedUnits
from runtime.herder.group.assignor import Unit
from runtime.herder.group.awaited_view import AwaitedView, AwaitView
from runtime.herder.group.follow_ups import FollowUps
from runtime.herder.group.group import GroupListener, GroupSnapshot, GroupWorkerInfo, WorkerState
from runtime.herder.group.leader import describe_members, lead, newest_offset, refusal, shared_urls, worker_id
from runtime.herder.group.leader_view import GroupSettings, LeaderView, ViewSources
from runtime.herder.group.rejoin_backoff import REJOIN_DELAY, RejoinBackoff
from runtime.herder.group.write_claim import WriteClaim
from runtime.kafka.errors import GroupOccupied, KafkaProblem
from runtime.kafka.group.group_member import GroupMember, MemberEvents, Place
from runtime.kafka.group.protocol import CONNECTOR, Assignment, Details, WorkerMetadata
from runtime.storage.configs import ConfigStore
from runtime.storage.statuses import StatusStore
from runtime.system.lease_clock import lease_time

_log = logging.getLogger(__name__)

RETRY_DELAY = 1.0
"""Seconds between attempts to read the config topic after a rebalance."""

MEMBERS_RETRY_DELAY = 0.2
"""Seconds between attempts to read the members of the group."""

BALANCE_INTERVAL = 300.0
"""Seconds after which the leader requests a rebalance, so that changed loads are balanced; nothing stops for it unless
the loads of the workers differ by more than `assignor.IMBALANCE`."""

_APART = (
    "stop all of them to take over the cluster (a killed worker counts as alive for its session.timeout.ms), set "
    "headrace.mixed.group=true to run beside them, or set another group.id"
)

_ADDRESS = (
    "requests that are forwarded to one of them may reach the other. Set rest.advertised.host.name and "
    "rest.advertised.port of each worker to an address under which the others reach it, and `listeners` to listen there"
)


class WorkerGroup:
    """Implements Group. Event loop only, except `_describe` and `_lead`."""

    def __init__(
        self,
        member: GroupMember,
        settings: GroupSettings,
        configs: ConfigStore,
        statuses: StatusStore,
        sources: ViewSources,
        claim: WriteClaim | None = None,
        await_view: AwaitView = concurrent.futures.Future.result,
    ) -> None:
        """`claim`: the leader's claim to the config topic; None if a leader needs none."""
        self._claim = claim or WriteClaim()
        self._member, self._settings, self._configs = member, settings, configs
        self._view = LeaderView(settings, configs, statuses, sources)
        self._awaited_view = AwaitedView(self._view, self._awaited, await_view)
        self._sources = sources
        self.worker_id = worker_id(settings.url)
        self._place: Place | None = None
        self._snapshot = GroupSnapshot(member.group_id)
        self._led: GroupSnapshot | None = None  # of the rebalance that this worker has led, until it is complete
        self._units = AssignedUnits(member.ownership)
        self._owners: dict[Unit, str] | None = None
        self._ready = False  # a slot has been up
        self._draining = False
        self._changed = asyncio.Event()
        self._rejoining: asyncio.TimerHandle | None = None
        self._balancing: asyncio.TimerHandle | None = None
        self._backoff = RejoinBackoff(member.group_id, member.rejoin)
        self._entering: asyncio.Task[None] | None = None
        self._newest: Place | None = None
        self._last_leader_url: str | None = None
        self._follow_ups = FollowUps(member.group_id)
        self._loop: asyncio.AbstractEventLoop
        self._joined: asyncio.Future[None]
        self._listener: GroupListener

    # Group

    @property
    def leads(self) -> bool:
        confirmed = self._member.confirmed_until > lease_time()
        return self._place is not None and self._place.leads and confirmed and self._claim.held

    @property
    def leader_url(self) -> str | None:
        """Also of a leader that has assigned nothing yet, or whose assignment this worker cannot apply yet."""
        if self._newest is None or self._member.confirmed_until <= lease_time():
            return None
        if self._newest.leads:
            return self._settings.url if self.leads else None
        return self._newest.leader_url

    @property
    def last_leader_url(self) -> str | None:
        return self._last_leader_url

    @property
    def leader_member(self) -> str:
        """The leader's member id; empty while it is unknown."""
        return self._place.leader if self._place is not None else ""

    @property
    def generation(self) -> int:
        return self._place.generation if self._place is not None else 0

    @property
    def snapshot(self) -> GroupSnapshot:
        snapshot = replace(self._snapshot, generation=self.generation, rebalancing=self._member.rebalancing)
        if not self._units.is_alone:
            return snapshot
        return replace(snapshot, workers=[replace(worker, units=self._units.owned) for worker in snapshot.workers])

    @property
    def confirmed_until(self) -> float:
        """The lease_time() until which the coordinator certainly counts this worker as a member."""
        return self._member.confirmed_until

    @property
    def trouble(self) -> str:
        """The reason why the worker is not in the group, or cannot lead it; empty otherwise."""
        return self._member.trouble or self._unconfirmed or self.cannot_lead

    @property
    def _unconfirmed(self) -> str:
        """Why no task runs: a broker that is frozen closes no connection, which would be an error of the client."""
        is_confirmed = self._member.confirmed_until > lease_time()
        return "" if is_confirmed else f"Kafka does not confirm the membership in group {self._member.group_id}"

    @property
    def cannot_lead(self) -> str:
        return self._claim.trouble

    def owns(self, connector: str, task: int = CONNECTOR) -> bool:
        return self._units.owns(connector, task)

    def owns_any(self, connector: str) -> bool:
        return self._units.owns_any(connector)

    def owned(self) -> list[str]:
        """The connectors of which this worker owns anything, or must stop anything."""
        return self._units.connectors()

    def units(self, connector: str) -> frozenset[int]:
        """The units that this worker owns, and those that must stop here before another worker may start them."""
        return self._units.of(connector)

    def runs_elsewhere(self, worker_id: str, connector: str, task: int) -> bool:
        others = (w for w in self._snapshot.workers if w.worker_id == worker_id != self.worker_id)
        return any(Unit(connector, task) in (worker.units | worker.stopping) for worker in others)

    def is_outside(self, worker_id: str, generation: int) -> bool:
        present = self._present()
        return bool(present) and not self._unconfirmed and generation >= self.generation and worker_id not in present

    def owned_by_apache(self) -> Sequence[str]:
        theirs = (worker.units for worker in self._snapshot.workers if worker.implementation == "connect")
        return [unit.connector for units in theirs for unit in units if unit.task == CONNECTOR]

    def owner_url(self, connector: str, task: int = CONNECTOR) -> str | None:
        if self.owns(connector, task):
            return self._settings.url
        if self._owners is None:
            self._owners = {unit: worker.url for worker in self._snapshot.workers for unit in worker.units}
        owner = self._owners.get(Unit(connector, task))
        return None if owner == self._settings.url else owner

    def peers(self) -> Sequence[GroupWorkerInfo]:
        return [w for w in self._snapshot.workers if w.worker_id != self.worker_id and w.implementation == "headrace"]

    def rejoin(self) -> None:
        """Request a rebalance. Requests that follow each other closely become one."""
        if self._rejoining is None and self._place is not None:
            self._rejoining = self._loop.call_later(REJOIN_DELAY, self._rejoin_now)

    def slots_up(self) -> None:
        """The first slot is up. Until then this worker receives nothing if other workers have slots."""
        if not self._ready:
            self._ready = True
            if not self._units.is_alone:
                self.rejoin()

    def stopped(self, connector: str, tasks: Collection[int]) -> None:
        if released := self._units.stopped(connector, tasks):
            self._member.released((connector, task) for task in released)
        self._notify()

    def configured(self, name: str) -> None:
        """The config topic has new records of this connector: adopt its units, or request a rebalance, if connectors
        or tasks have been added or removed."""
        added = self._units.configured(name, self._view.units(name))
        if added is not None and self._place is not None and not self._units.adopt({name: added}):
            self.rejoin()

    # joining and leaving

    async def join(self, listener: GroupListener) -> None:
        """Join, waiting for Kafka as long as necessary. GroupOccupied if the worker cannot join this group."""
        self._listener, self._loop = listener, asyncio.get_running_loop()
        self._joined = self._loop.create_future()
        self._claim.subscribe(self._claim_changed)
        self._units.exist({name: self._view.units(name) for name in self._configs.names()})
        foreign = await self._view.foreign()
        refusal = "" if self._settings.mixed else _APART
        if foreign:
            refusal = (
                f"this worker lacks the classes of the connectors {', '.join(sorted(foreign))}, which the group might "
                "assign to it; install their plugins, or delete the connectors"
            )
        events = MemberEvents(self._describe, self._lead, self._on_place, self._on_lost, self._on_refused)
        self._member.start(events, refusal)
        await asyncio.shield(self._joined)

    async def hand_over(self, within: float) -> None:
        """Move everything that runs here to other workers, for at most `within` seconds."""
        if self._place is None or not self._units.owned or not self._successors():
            return
        _log.info("Handing connectors and tasks over to the other workers of group %s", self._member.group_id)
        self._draining = True
        self._member.rejoin()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self._units and self._successors():
                    await self._changed.wait()
                return
        _log.warning("Not everything could be handed over within %.0f s", within)

    def _successors(self) -> Sequence[GroupWorkerInfo]:
        """The workers that take over units while this worker is draining. A leader of another implementation does not
        know of draining."""
        peers = self.peers()
        led_by_us = self._snapshot.leader in (self.worker_id, *(peer.worker_id for peer in peers))
        return [peer for peer in peers if peer.state is WorkerState.ACTIVE] if led_by_us else ()

    async def leave(self) -> None:
        """Leave the group, so that other workers get this worker's units at once."""
        for handle in (self._rejoining, self._balancing, self._entering):
            if handle is not None:
                handle.cancel()
        self._backoff.cancel()
        self._follow_ups.cancel()
        self._claim.drop()
        await self._member.leave()

    async def evict(self, members: Sequence[GroupWorkerInfo]) -> None:
        """Remove workers whose processes have ended, and request a rebalance."""
        await self._member.evict([worker.member_id for worker in members])
        self._member.rejoin()

    # the network thread

    def _describe(self) -> WorkerMetadata:
        settings = self._settings
        slots = settings.slots if self._ready else 0
        details = Details(
            settings.version,
            slots,
            self._sources.loads(),
            draining=self._draining,
            process=self._member.process,
            elsewhere=settings.elsewhere,
            topics=settings.topics,
        )
        return WorkerMetadata(settings.url, self._configs.offset, details=details)

    def _lead(self, leader_id: str, members: Mapping[str, WorkerMetadata]) -> Mapping[str, Assignment]:
        try:
            led = lead(leader_id, members, self._awaited_view.get(newest_offset(members), self._loop))
        except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            _log.warning("The worker is too busy to assign connectors and tasks; all workers join the group again")
            return refusal(leader_id, members).assignments
        except Exception:  # would end this worker, and then each next leader
            _log.exception("Connectors and tasks could not be assigned; all workers join the group again")
            return refusal(leader_id, members).assignments
        for url, processes in shared_urls(members).items():
            _log.error("The workers %s have the same address %s: %s", " and ".join(processes), url, _ADDRESS)
        self._loop.call_soon_threadsafe(self._note_led, led.snapshot)
        return led.assignments

    # the event loop

    def _present(self) -> set[str]:
        """The ids of the workers in the group."""
        return {worker.worker_id for worker in self._snapshot.workers}

    def _awaited(self) -> set[str]:
        """The ids of the workers whose units wait for their return if they leave. A draining worker gives up its units
        before it leaves, though the status of a unit may name it until the new owner has started the unit."""
        return {worker.worker_id for worker in self._snapshot.workers if worker.state is not WorkerState.DRAINING}

    def _note_led(self, snapshot: GroupSnapshot | None) -> None:
        self._led = snapshot

    def _on_place(self, place: Place) -> None:
        self._newest = place
        self._last_leader_url = None if place.leads else place.leader_url
        if not (place.leads and place.mismatch):
            self._awaited_view.forget()
        if self._entering is None or self._entering.done():
            self._entering = asyncio.create_task(self._enter_newest(), name="enter group")
            self._entering.add_done_callback(self._entered)

    def _entered(self, entering: asyncio.Task[None]) -> None:
        """A worker that cannot apply an assignment must end: it would neither run nor release its units."""
        if entering.cancelled() or (error := entering.exception()) is None:
            return
        _log.error("The assignment could not be applied", exc_info=error)
        self._on_refused(
            GroupOccupied(f"an assignment of group {self._member.group_id} could not be applied: {error!r}")
        )

    async def _enter_newest(self) -> None:
        entered = None
        while self._newest is not None and self._newest is not entered:
            entered = self._newest
            await self._enter(entered)

    async def _enter(self, place: Place) -> None:
        while self._configs.offset < place.config_offset:
            try:
                await self._configs.read_to_end()
                break
            except KafkaProblem as e:
                _log.warning("Cannot read the config topic up to the assignment: %s", e)
                await asyncio.sleep(RETRY_DELAY)
        if place is not self._newest:
            return
        if place.mismatch:
            self._backoff.refused(place, self._configs.offset)
            return
        self._backoff.assigned()
        await self._claim_for(place)
        if place is not self._newest:
            return
        self._place, awaited = place, self._awaited()
        if place.leads and self._led is not None:
            self._take(self._led)
        self._refresh(place)
        self._listener.entered(place.generation)
        if not self._joined.done():
            self._joined.set_result(None)
        self._listener.ownership_changed()
        self._lead_or_follow()
        self._notify()
        self._balance_later(place)
        if place.leads:
            starting = {w.worker_id for w in self._snapshot.workers if w.implementation == "headrace" and not w.slots}
            self._follow_ups.start(
                self._sources.departures.note(awaited - starting, self._present() - starting, self._settings.delay)
            )
        else:
            self._follow_ups.cancel()  # a deposed leader records no departures
            self._follow_ups.start(self._read_members(place))

    async def _claim_for(self, place: Place) -> None:
        """The new leader takes over the config topic before it does anything else."""
        if place.leads:
            await self._claim.take()
        else:
            self._claim.drop()

    def _claim_changed(self, held: bool) -> None:
        if self._place is not None and self._place.leads:  # otherwise _enter() follows
            self._lead_or_follow()
        if not held:
            self._member.rejoin()

    def _lead_or_follow(self) -> None:
        leads = self._place is not None and self._place.leads and self._claim.held
        unassigned = self._snapshot.unassignable.union(self._snapshot.waiting)
        self._listener.leading(leads, unassigned if leads else ())

    def _balance_later(self, place: Place) -> None:
        if self._balancing is not None:
            self._balancing.cancel()
        leads_others = place.leads and len(self._snapshot.workers) > 1
        self._balancing = self._loop.call_later(BALANCE_INTERVAL, self.rejoin) if leads_others else None

    async def _read_members(self, place: Place) -> None:
        """The coordinator names the members' metadata only while no rebalance is under way."""
        while place is self._newest:
            try:
                members = await self._member.members()
            except KafkaProblem as e:
                _log.warning("Cannot read the members of group %s: %s", self._member.group_id, e)
                members = {}
            if place.member_id in members and place.leader in members:
                self._check_topics(members[place.leader])
                self._take(describe_members(members, worker_id(place.leader_url)))
                self._listener.members_read()
                self._notify()
                return
            await asyncio.sleep(MEMBERS_RETRY_DELAY)

    def _check_topics(self, leader: WorkerMetadata) -> None:
        """A worker with other storage topics than the leader's must end: it does not know the connectors that it is
        assigned."""
        topics = leader.details.topics if leader.details else {}
        ours = self._settings.topics.items()
        others = [f"{key}={own}, but {topics[key]}" for key, own in ours if topics.get(key, own) != own]
        if others:
            text = f"{others[0]} on {worker_id(leader.url)}, the leader of group.id={self._member.group_id}: "
            self._on_refused(GroupOccupied(f"{text}set the same topics on all workers, or choose another group.id"))

    def _take(self, snapshot: GroupSnapshot) -> None:
        self._snapshot = replace(snapshot, group_id=self._member.group_id)
        self._owners = self._led = None

    def _refresh(self, place: Place) -> None:
        """Take over what the last assignment gave to this worker, and adopt what has been created since."""
        alone = place.leads and len(self._snapshot.workers) == 1 and self.worker_id not in self._sources.states()
        left = self._snapshot.unassignable.union(self._snapshot.waiting)
        if not self._units.assigned(place.edition if alone else None, left):
            self.rejoin()

    def _on_lost(self) -> None:
        self._follow_ups.cancel()
        self._claim.drop()
        self._place = self._newest = None
        self._units.lose()
        self._listener.ownership_changed()
        self._listener.leading(False, ())
        self._notify()

    def _on_refused(self, error: GroupOccupied) -> None:
        if not self._joined.done():
            self._joined.set_exception(error)
        else:
            self._listener.refused(str(error))

    def _rejoin_now(self) -> None:
        self._rejoining = None
        self._member.rejoin()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

"""Requests about offsets: read at any time, altered and reset while STOPPED (KIP-875), set when a connector is created
(KIP-995), deleted with the connector."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from runtime.api.errors import ConfigError
from runtime.herder import views
from runtime.herder.configs import task_specs
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.errors import BadRequest, Conflict, HerderError, Unavailable
from runtime.herder.herder import Herder
from runtime.herder.offsets.offset_change import OffsetChanges, StepRefused
from runtime.herder.offsets.offset_values import check_values
from runtime.herder.offsets.settling import GroupSettling
from runtime.herder.offsets.sink_offsets import parse_sink_offsets
from runtime.herder.offsets.stored_offsets import StoredOffsets, sink_entry, topic_partitions
from runtime.herder.responses import InfoResponse, MessageResponse, OffsetsResponse
from runtime.host.port import HostError
from runtime.kafka.errors import BrokerUnavailable, GroupError
from runtime.kafka.formats import canonical
from runtime.model.states import ConnectorType, TargetState
from runtime.storage.configs import ConfigStore, StoredConnector
from runtime.storage.journal import NO_ORIGIN, ChangeOrigin, OffsetAction, OffsetEntry, PlannedChange

_NOT_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
)
_DEFINITE = "The offsets for this connector have been {done} successfully"
_POSSIBLE = (
    "The {framework} offsets for this connector have been {done} successfully. However, if this "
    "connector manages offsets externally, they will need to be manually {done} in the system that the connector uses."
)


class OffsetRequests:
    """Answers requests that read or change offsets. Event loop only."""

    def __init__(
        self, herder: Herder, configs: ConfigStore, settling: GroupSettling, host: ResolvingHost,
        offsets: StoredOffsets, changes: OffsetChanges, fence: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:  # fmt: skip
        """`fence` fences the earlier tasks of a source; None unless source tasks write in transactions."""
        self._fence_tasks = fence
        self._herder, self._configs, self._settling, self._host = herder, configs, settling, host
        self._offsets, self._changes = offsets, changes

    async def read(self, name: str) -> OffsetsResponse:
        """GET /connectors/{name}/offsets (KIP-875)."""
        stored = self._herder.stored(name)
        entries = await self._offsets.shown(name, await self.group(name, stored.config))
        return {"offsets": [{"partition": partition, "offset": offset} for partition, offset in entries]}

    async def alter(
        self, name: str, offsets: Sequence[OffsetEntry], origin: ChangeOrigin = NO_ORIGIN
    ) -> MessageResponse:
        """PATCH /connectors/{name}/offsets: sets the offsets of these partitions; None removes an offset. The
        connector's own alter_offsets() is called first and may refuse."""
        async with self._herder.exclusive(name):
            stored = await self._stopped(name)
            group = await self.group(name, stored.config)
            offsets = await self._checked(name, group, offsets)
            await self._fence(name, group)
            definite = await self._ask(stored.config, group, offsets)
            await self._change(stored, group, OffsetAction.ALTER, offsets, origin)
            return _verdict(definite, "altered")

    async def reset(self, name: str, origin: ChangeOrigin = NO_ORIGIN) -> MessageResponse:
        """DELETE /connectors/{name}/offsets: removes all offsets; succeeds if there are none."""
        async with self._herder.exclusive(name):
            stored = await self._stopped(name)
            group = await self.group(name, stored.config)
            await self._fence(name, group)
            removed = [(partition, None) for partition, _ in await self._offsets.read(name, group)]
            definite = await self._ask(stored.config, group, removed)
            await self._change(stored, group, OffsetAction.RESET, removed, origin)
            return _verdict(definite, "reset")

    async def create(
        self, name: str, config: Mapping[str, str | None], initial: TargetState | None, offsets: Sequence[OffsetEntry],
        origin: ChangeOrigin = NO_ORIGIN,
    ) -> InfoResponse:  # fmt: skip
        """POST /connectors with `initial_offsets` (KIP-995): checks configuration and offsets before writing, and
        removes offsets that a connector of this name left behind, whose tasks commit until they have stopped."""
        async with self._herder.exclusive(name):
            with _CreationStep(name, "validate connector config"):
                checked = await self._herder.validated(name, config)
            if self._configs.connector(name) is not None:
                raise Conflict(f"Connector {name} already exists")
            with _CreationStep(name, "validate offsets"):
                group = await self.group(name, checked)
                with self._offsets.configured(name, checked):
                    offsets = await self._checked(name, group, offsets)
                definite = await self._ask(checked, group, offsets)
                await self._settled(name)
            with self._offsets.configured(name, checked):
                before = tuple(await self._offsets.read(name, group))
            state = initial.value if initial else None
            intent = PlannedChange(
                name, OffsetAction.CREATE, tuple(offsets), before, group, checked, state, origin=origin
            )
            try:
                await self._changes.carry_out(intent)
            except StepRefused as e:
                raise BadRequest(_failed(name, e.step, f"{e}. The connector was not created")) from e
            info = views.info(name, checked, 0, await self._herder.type(checked))
            return {**info, "initial_offsets_response": _verdict(definite, "set")["message"]}

    async def delete(self, name: str, origin: ChangeOrigin = NO_ORIGIN) -> MessageResponse:
        """Delete the connector and its offsets: stops the connector, calls its alter_offsets(), and starts the
        connector again if alter_offsets() refuses."""
        async with self._herder.exclusive(name):
            stored = self._herder.stored(name)
            group = await self.group(name, stored.config)
            async with self._changes.halted(_planned(stored, group, OffsetAction.HALT, origin)):
                await self._settled(name)
                await self._fence(name, group)
                removed = [(partition, None) for partition, _ in await self._offsets.read(name, group)]
                definite = await self._ask(stored.config, group, removed)
                await self._change(stored, group, OffsetAction.DELETE, removed, origin)
            return {"message": f"The connector {name} has been deleted. {_verdict(definite, 'reset')['message']}"}

    async def _stopped(self, name: str) -> StoredConnector:
        """The connector, STOPPED and with every task ended."""
        stored = self._herder.stored(name)
        if stored.target is not TargetState.STOPPED or stored.tasks:
            raise BadRequest(_NOT_STOPPED.format(name=name))
        await self._settled(name)
        return stored

    async def _settled(self, name: str) -> None:
        if (reason := await self._settling.unsettled(name)) is not None:
            raise Unavailable(f"{reason[0].upper()}{reason[1:]}; nothing was changed, try again")

    async def _fence(self, name: str, group: str | None) -> None:
        """Tasks of an exactly-once source that have lost their slots may still commit (KIP-618)."""
        if group is not None or self._fence_tasks is None:
            return
        try:
            await self._fence_tasks(name)
        except BrokerUnavailable as e:
            raise Unavailable(f"{e}; no offsets were changed, try again") from None

    async def _checked(self, name: str, group: str | None, offsets: Sequence[OffsetEntry]) -> list[OffsetEntry]:
        """The offsets in the shape in which they are stored; BadRequest if they are invalid. If a partition occurs
        twice, the last entry wins."""
        offsets = list({canonical(partition): (partition, offset) for partition, offset in offsets}.values())
        if group is None:
            check_values(offsets)
            return offsets
        entries = [sink_entry(t, p, o) for (t, p), o in parse_sink_offsets(offsets).items()]
        try:
            await self._offsets.check_sink(name, group, entries)
        except GroupError as e:
            raise BadRequest(_refused("alter", name, e)) from None
        return entries

    async def _ask(self, config: Mapping[str, str], group: str | None, offsets: Sequence[OffsetEntry]) -> bool:
        """Call the connector's alter_offsets(): whether it confirms the change as complete (KIP-875)."""
        if group is None:
            return await _confirmed(self._host.alter_source_offsets(config, list(offsets)))
        triples = [(topic, number, offset) for (topic, number), offset in topic_partitions(offsets).items()]
        return await _confirmed(self._host.alter_sink_offsets(config, triples))

    async def _change(
        self,
        stored: StoredConnector,
        group: str | None,
        action: OffsetAction,
        offsets: Sequence[OffsetEntry],
        origin: ChangeOrigin,
    ) -> None:
        before = tuple(await self._offsets.read(stored.name, group))
        intent = _planned(stored, group, action, origin, tuple(offsets), before)
        try:
            await self._changes.carry_out(intent)
        except StepRefused as e:
            raise BadRequest(_refused("alter" if action is OffsetAction.ALTER else "reset", stored.name, e)) from None

    async def group(self, name: str, config: Mapping[str, str]) -> str | None:
        """The consumer group of a sink; None for sources. BadRequest if the configuration cannot be resolved."""
        with _unresolved(name):
            if (await self._host.resolve(config.get("connector.class", ""))).type != ConnectorType.SINK:
                return None
            own = await self._host.value(config, task_specs.GROUP)
        return task_specs.group_id(name, {} if own is None else {task_specs.GROUP: own})

    async def isolation(self, config: Mapping[str, str]) -> str | None:
        """The `isolation.level` that a sink's configuration sets for its consumers."""
        own = await self._host.value(config, task_specs.ISOLATION_LEVEL)
        return None if own is None else own.strip().lower()

    async def resolved(self, name: str) -> Mapping[str, str]:
        """The configuration of a connector with variables resolved; never to be shown to clients."""
        with _unresolved(name):
            return await self._host.resolve_stored(name, self._herder.stored(name).config)


def _planned(
    stored: StoredConnector, group: str | None, action: OffsetAction, origin: ChangeOrigin,
    offsets: tuple[OffsetEntry, ...] = (), before: tuple[OffsetEntry, ...] = (),
) -> PlannedChange:  # fmt: skip
    config, state = stored.config, stored.target.value
    # Restored tasks count as generated from the current config: those of an earlier one are generated again instead.
    tasks = stored.tasks if stored.is_applied else ()
    return PlannedChange(stored.name, action, offsets, before, group, config, state, tasks, origin)


@contextmanager
def _unresolved(name: str) -> Iterator[None]:
    try:
        yield
    except ConfigError as e:
        raise BadRequest(f"The configuration of connector {name} cannot be resolved: {e}") from None


class _CreationStep:
    """Adds the name of the failed step to an error of a creation (KIP-995)."""

    def __init__(self, name: str, step: str) -> None:
        self._name, self._step = name, step

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, HerderError):
            raise type(error)(_failed(self._name, self._step, str(error))) from None


def _failed(name: str, step: str, why: str) -> str:
    return f"Creating connector {name} with initial offsets failed at the step '{step}': {why}"


def _refused(what: str, name: str, why: Exception) -> str:
    return f"Failed to {what} consumer group offsets for connector {name}: {why}"


async def _confirmed(hook: Awaitable[bool]) -> bool:
    try:
        return bool(await hook)
    except HostError as e:
        if e.temporary:
            raise Unavailable(f"{e.message}; no offsets were changed, try again") from None
        if e.kind == "unsupported":
            raise BadRequest(f"The connector does not support altering its offsets: {e.message}") from None
        raise BadRequest(e.message) from None
    except TimeoutError as e:
        raise HerderError(f"{e}; no offsets were changed") from None


def _verdict(definite: bool, done: str) -> MessageResponse:
    """Apache's wording (KIP-875, and KIP-995 for `set`)."""
    framework = "framework-managed" if done == "set" else "Connect framework-managed"
    return {"message": (_DEFINITE if definite else _POSSIBLE).format(done=done, framework=framework)}

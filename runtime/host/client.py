"""The worker's client of the plugin host: starts its process, calls it, and restarts it when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from runtime.host.child import Child, ChildDiedError, Event
from runtime.host.port import HOST_ABSENT, HOST_DIED, ConnectorInfo, HostError, HostListener, PluginTimeoutError
from runtime.host.settings import HostSettings
from runtime.logs.formats import Scrub
from runtime.system.frames import FrameError
from runtime.system.scheduling import Delay, ProcessTree, RunLimit, within

_log = logging.getLogger(__name__)

_RESTART_DELAYS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds before the next start, by the number of consecutive early deaths."""

_HEALTHY_AFTER = 10.0
"""Seconds of running after which a death no longer counts as early."""

STOP_TIMEOUT = 5.0
"""Seconds that start() and stop() have to return when a connector is stopped, as in Connect."""

PING_TIMEOUT = 10.0
"""Seconds within which a healthy process answers, even on a busy machine."""

_FROZEN = "it does not respond: a plugin blocks its interpreter"

_EXCEPTION = "org.apache.kafka.connect.errors.ConnectException"

_CLOSE_TIMEOUT = 4.0
"""Seconds that the process has to end after its input was closed."""


class PluginHostClient:
    """PluginHost over a child process. Event loop only."""

    def __init__(
        self, settings: HostSettings, listener: HostListener, scrub: Scrub = str,
        ping_timeout: float = PING_TIMEOUT, stop_timeout: float = STOP_TIMEOUT, delay: type[Delay] = Delay,
    ) -> None:  # fmt: skip
        """`scrub` removes secrets from the output and logs of plugins. Timeouts are in seconds;
        `ping_timeout` and that of the settings do not count the `delay` of the process: a new process would be even
        later."""
        self._settings, self._listener = settings, listener
        self.call_timeout = settings.call_timeout
        """Seconds for a call, and for a start."""
        self._scrub = scrub
        self._ping_timeout, self._stop_timeout, self._delay = ping_timeout, stop_timeout, delay
        self._child: Child | None = None
        self._up = asyncio.Event()
        self._supervisor: asyncio.Task[None] | None = None
        self._closing = False
        self._running: set[asyncio.Task[None]] = set()
        self._infos: dict[tuple[str, str | None], ConnectorInfo] = {}
        self._with_java: Child | None = None  # the process that can load Java plugins

    @property
    def pid(self) -> int | None:
        """The id of the current process; None while there is no process."""
        return self._child.pid if self._child else None

    async def start(self) -> None:
        child = await self._spawn()
        self._supervisor = asyncio.create_task(self._supervise(child))

    async def close(self) -> None:
        self._closing = True
        if self._supervisor is None:
            return
        if self._child is None:
            self._supervisor.cancel()
        else:
            self._child.close_input()
        if not (await asyncio.wait({self._supervisor}, timeout=_CLOSE_TIMEOUT))[0] and self._child is not None:
            self._child.kill("it did not end in time")
        await asyncio.wait({self._supervisor})

    async def scan(self) -> dict[str, Any]:
        """All plugins in the folders of plugin.path and their environments (PluginCatalog.to_json())."""
        catalog: dict[str, Any] = await self._query("scan")
        return catalog

    async def use(self, catalog: Mapping[str, Any]) -> None:
        """Use the plugins of this catalog from now on, also after a restart of the process."""
        self._settings = replace(self._settings, catalog=catalog)
        await self._query("use", catalog)
        self._infos.clear()

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Set the levels of loggers in the process, also after its restart, and in its JVM."""
        self._settings = replace(self._settings, levels=dict(levels))
        if self._child is not None:
            self._background(self._set_levels(self._child))

    async def _set_levels(self, child: Child) -> None:
        with contextlib.suppress(ChildDiedError, HostError):
            await child.call("set_levels", self._settings.levels)

    async def prepare_java(self) -> None:
        """Wait until Java plugins can be loaded, which may take a minute the first time. HostError with the remedy."""
        if self._child is None or self._with_java is not self._child:
            self._with_java, _ = await self._call_without_limit("prepare_java")

    async def java_versions(self, catalog: Mapping[str, Any]) -> dict[str, Any]:
        """The catalog with the versions of Java plugins that only their classes know; starts a JVM."""
        await self.prepare_java()
        _, versions = await self._call_without_limit("java_versions", catalog)
        return dict(versions)

    # the calls of the port

    async def plugins(self, connectors_only: bool) -> list[dict[str, str]]:
        plugins: list[dict[str, str]] = await self._query("plugins", connectors_only)
        return plugins

    async def resolve(self, connector_class: str, config: Mapping[str, str | None] | None = None) -> ConnectorInfo:
        version = (config or {}).get("connector.plugin.version")
        if (known := self._infos.get((connector_class, version))) is None:
            known = ConnectorInfo(**await self._query("resolve", connector_class, version))
            self._infos[connector_class, version] = known
        return known

    async def describe(self, plugin: str, version: str | None = None) -> list[dict[str, Any]]:
        keys: list[dict[str, Any]] = await self._query("describe", plugin, version)
        return keys

    async def validate(self, config: Mapping[str, str | None], text_only: bool = False) -> dict[str, Any]:
        result: dict[str, Any] = await self._query("validate", dict(config), text_only)
        return result

    async def start_connector(self, name: str, config: Mapping[str, str]) -> None:
        child, _ = await self._call_without_limit("start_connector", name, dict(config))
        if child is not self._child:
            raise _died("start_connector", "right after it")
        child.connectors.add(name)

    async def stop_connector(self, name: str) -> None:
        if self._child is None:
            return  # the instance ended with its host
        self._child.connectors.discard(name)
        try:
            async with asyncio.timeout(self._stop_timeout):
                await self._child.call("stop_connector", name)
        except (HostError, ChildDiedError) as error:
            _log.error("Connector %s failed to stop: %s", name, error)
        except TimeoutError:
            await self._abandon(name)

    async def task_configs(self, name: str, max_tasks: int) -> list[dict[str, str]]:
        _, configs = await self._call_without_limit("task_configs", name, max_tasks)
        return list(configs)

    async def alter_source_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        _, definite = await self._call("alter_source_offsets", dict(config), list(offsets))
        return bool(definite)

    async def alter_sink_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[str, int, int | None]]
    ) -> bool:
        _, definite = await self._call("alter_sink_offsets", dict(config), list(offsets))
        return bool(definite)

    # making calls

    async def _query(self, call: str, *args: Any) -> Any:
        """Make a call that changes nothing. Repeated once if the host died during the call, since another plugin may
        have ended the host."""
        try:
            return (await self._call(call, *args))[1]
        except HostError as error:
            if not error.temporary or self._closing:
                raise
        return (await self._call(call, *args))[1]

    async def _call(self, call: str, *args: Any) -> tuple[Child, Any]:
        """The process and its response. PluginTimeoutError if the plugin does not return in time, which also ends the
        process; a temporary HostError if the process has failed, not the plugin that was called."""
        child = await self._child_up(call)
        began = datetime.now(UTC)
        try:
            return child, await within(self._limit(self.call_timeout, child), child.call(call, *args))
        except ChildDiedError as error:
            raise _died(call, str(error)) from None
        except TimeoutError as error:
            reason = f"{call} got no response within {self.call_timeout:g} s"
            if method := str(error):  # reported by the process, which has interrupted the Java plugin
                raise PluginTimeoutError(method, began, reason) from None
            if not await self._responds(child):
                raise _died(call, child.kill_reason or _FROZEN) from None
            child.kill(reason)
            raise PluginTimeoutError(call, began, reason) from None

    async def _call_without_limit(self, call: str, *args: Any) -> tuple[Child, Any]:
        """As _call(), without a time limit: only a process that does not answer pings is ended."""
        child = await self._child_up(call)
        response = asyncio.ensure_future(child.call(call, *args))
        try:
            while not (await asyncio.wait({response}, timeout=self.call_timeout))[0]:
                await self._responds(child)
            return child, await response
        except ChildDiedError as error:
            raise _died(call, str(error)) from None
        finally:
            response.cancel()

    async def _child_up(self, call: str) -> Child:
        """Waits for the process to be up."""
        if self._closing:
            raise HostError(HOST_ABSENT, "The plugin host has been closed", "")
        try:
            async with asyncio.timeout(self.call_timeout):
                while self._child is None:
                    await self._up.wait()
        except TimeoutError:
            message = f"The plugin host could not be started within {self.call_timeout:g} s"
            raise HostError(HOST_ABSENT, message, f"{_EXCEPTION}: {message}\n") from None
        return self._child

    async def _responds(self, child: Child) -> bool:
        """Whether the process answers a ping; a process that does not is ended, since a plugin blocks its
        interpreter."""
        try:
            await within(self._limit(self._ping_timeout, child), child.call("ping"))
        except TimeoutError:
            child.kill(_FROZEN)
            return False
        except ChildDiedError:
            return False
        return True

    def _limit(self, seconds: float, child: Child) -> RunLimit:
        return RunLimit(seconds, ProcessTree(child.pid), delay=self._delay)

    async def _abandon(self, name: str) -> None:
        """Abandon the instance, as Connect does after the same time; a new instance may be started meanwhile."""
        _log.error(
            "Connector %s did not stop within %g s; it was abandoned and may hold resources until the worker ends",
            name, self._stop_timeout,
        )  # fmt: skip
        with contextlib.suppress(HostError, TimeoutError):
            await self._call("abandon_connector", name)

    # the process

    async def _spawn(self) -> Child:
        self._child = await Child.spawn(self._settings, self._on_event, self._scrub)
        self._infos.clear()
        self._up.set()
        return self._child

    async def _supervise(self, child: Child) -> None:
        loop, early = asyncio.get_running_loop(), 0
        while True:
            born = loop.time()
            reason = await child.run()
            self._child = None
            self._up.clear()
            if self._closing:
                return
            _log.error("The plugin host died (%s); restarting it and its connectors", reason)
            self._on_event({"event": "lost", "connectors": sorted(child.connectors), "reason": reason})
            early = early + 1 if loop.time() - born < _HEALTHY_AFTER else 0
            child = await self._respawn(early)

    async def _respawn(self, early: int) -> Child:
        while True:
            await asyncio.sleep(_RESTART_DELAYS[min(early, len(_RESTART_DELAYS) - 1)])
            try:
                return await self._spawn()
            except OSError as error:
                early += 1
                delay = _RESTART_DELAYS[min(early, len(_RESTART_DELAYS) - 1)]
                _log.error("Cannot start the plugin host: %s; retrying in %g s", error, delay)

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        running = asyncio.create_task(work)
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def _read_offsets(self, child: Child, event: Event) -> None:
        """Answer a source connector that reads its offsets. The response is lost with a host that dies meanwhile: the
        next one numbers its requests from the start."""
        offsets: Sequence[Mapping[str, Any] | None] = ()
        error = None
        try:
            offsets = await self._listener.connector_offsets(event["connector"], event["partitions"])
        except Exception as e:
            error = str(e) or type(e).__name__
        with contextlib.suppress(ChildDiedError):
            try:
                await child.call("offsets_read", event["number"], offsets, error)
            except FrameError as e:  # too many offsets
                await child.call("offsets_read", event["number"], (), str(e))

    def _on_event(self, event: Event) -> None:
        try:
            match event["event"]:
                case "reconfigure":
                    self._listener.reconfigure(event["connector"])
                case "failed":
                    self._listener.connector_failed(event["connector"], event["trace"])
                case "metrics":
                    self._listener.connector_metrics(event["connector"], event["metrics"])
                case "read_offsets" if self._child is not None:
                    self._background(self._read_offsets(self._child, event))
                case "lost":
                    if self._child is not None:
                        self._child.connectors.difference_update(event["connectors"])
                    self._listener.connectors_lost(event["connectors"], event["reason"])
                case "log":
                    text, more = self._scrub(event["text"]), {"context": event["context"]}
                    logging.getLogger(event["logger"]).log(event["level"], "%s", text, extra=more)
        except Exception:
            _log.exception("Cannot handle an event from the plugin host: %s", event)


def _died(call: str, reason: str) -> HostError:
    message = f"The plugin host died during {call}: {reason}"
    return HostError(HOST_DIED, message, f"{_EXCEPTION}: {message}\n")

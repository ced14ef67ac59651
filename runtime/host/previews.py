"""Runs previews of chains, each in a new process.

A transformation that blocks or crashes cannot affect connectors, and a plugin that was changed on disk is loaded again.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

from runtime.host.child import Child, ChildDiedError, Event
from runtime.host.settings import HostSettings
from runtime.logs.formats import Scrub

MAX_PREVIEWS = 2
"""How many previews may run at once; further previews wait."""

_START_TIMEOUT = 30.0  # seconds until the process runs plugin code, which takes longer on a busy machine
_END_TIMEOUT = 2.0  # seconds that the process has to end after its input was closed


class PreviewFailedError(Exception):
    """A plugin blocked the preview or ended its process; the message names the plugin's call."""


@dataclass(slots=True)
class _Progress:
    """The plugin call that the process last reported."""

    scrub: Scrub
    call: str = "its start"
    started: asyncio.Event = field(default_factory=asyncio.Event)

    def on_event(self, event: Event) -> None:
        match event["event"]:
            case "at":
                self.call = event["what"]
                self.started.set()
            case "log":
                logging.getLogger(event["logger"]).log(event["level"], "Preview: %s", self.scrub(event["text"]))


class PreviewHost:
    """Runs previews. Event loop only."""

    def __init__(self, settings: HostSettings, timeout: float = 10.0, scrub: Scrub = str) -> None:
        self._settings, self._timeout, self._scrub = settings, timeout, scrub
        self._turns = asyncio.Semaphore(MAX_PREVIEWS)

    async def preview(self, request: dict[str, Any]) -> dict[str, Any]:
        """The response of runtime.pipeline.preview.run. HostError if a plugin refuses its configuration,
        PreviewFailedError if a plugin does not return in time or ends the process."""
        async with self._turns:
            progress = _Progress(self._scrub)
            child = await Child.spawn(self._settings, progress.on_event, self._scrub)
            life = asyncio.create_task(child.run())
            call = asyncio.create_task(child.call("preview", request))
            started = asyncio.create_task(progress.started.wait())
            try:
                await asyncio.wait({call, started}, timeout=_START_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
                async with asyncio.timeout(self._timeout):
                    response: dict[str, Any] = await call
                    return response
            except TimeoutError:
                message = f"The preview did not end within {self._timeout:g} s; it was in {progress.call}"
                raise PreviewFailedError(message) from None
            except ChildDiedError as error:
                raise PreviewFailedError(f"The preview's process died ({error}) in {progress.call}") from None
            finally:
                started.cancel()
                await _end(child, life)


async def _end(child: Child, life: asyncio.Task[str]) -> None:
    """End the process, by force if necessary."""
    child.close_input()
    if not (await asyncio.wait({life}, timeout=_END_TIMEOUT))[0]:
        child.kill("the preview is over")
        await asyncio.wait({life}, timeout=_END_TIMEOUT)

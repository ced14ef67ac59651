"""Previews, worker side: each in a process of its own, that lives as long as it takes.

The connectors of the plugin host are not touched by what a transformation does, and a plugin that has been changed on
disk is tried as it is now.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

from runtime.host.child import Child, ChildDiedError, Event
from runtime.host.settings import HostSettings
from runtime.logs.formats import Scrub

_log = logging.getLogger(__name__)

MAX_PREVIEWS = 2
"""Previews that run at the same time; others wait."""

_START_TIMEOUT = 30.0  # seconds until it runs plugins' code: a busy machine is not their fault
_END_TIMEOUT = 2.0  # seconds that the process has to end by itself


class PreviewFailedError(Exception):
    """A plugin kept the preview from coming to an end; the message says which, and where."""


@dataclass(slots=True)
class _Place:
    """Where the process said it was."""

    scrub: Scrub
    what: str = "its start"
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, event: Event) -> None:
        match event["event"]:
            case "at":
                self.what = event["what"]
                self.begun.set()
            case "log":
                logging.getLogger(event["logger"]).log(event["level"], "Preview: %s", self.scrub(event["text"]))


class PreviewHost:
    """Runs previews. Event loop only."""

    def __init__(self, settings: HostSettings, timeout: float = 10.0, scrub: Scrub = str) -> None:
        self._settings, self._timeout, self._scrub = settings, timeout, scrub
        self._turns = asyncio.Semaphore(MAX_PREVIEWS)

    async def preview(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer of runtime.pipeline.preview.run. HostError for what plugins raise when they are configured,
        PreviewFailedError for one that blocks or ends its process."""
        async with self._turns:
            place = _Place(self._scrub)
            child = await Child.spawn(self._settings, place.hear, self._scrub)
            life = asyncio.create_task(child.run())
            call = asyncio.create_task(child.call("preview", request))
            begun = asyncio.create_task(place.begun.wait())
            try:
                await asyncio.wait({call, begun}, timeout=_START_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
                async with asyncio.timeout(self._timeout):
                    answer: dict[str, Any] = await call
                    return answer
            except TimeoutError:
                message = f"The preview did not end within {self._timeout:g} s; it was in {place.what}"
                raise PreviewFailedError(message) from None
            except ChildDiedError as error:
                raise PreviewFailedError(f"The preview's process died ({error}) in {place.what}") from None
            finally:
                begun.cancel()
                await _end(child, life)


async def _end(child: Child, life: asyncio.Task[str]) -> None:
    """No process is left behind, whatever runs in it."""
    child.close_input()
    if not (await asyncio.wait({life}, timeout=_END_TIMEOUT))[0]:
        child.kill("the preview is over")
        await asyncio.wait({life}, timeout=_END_TIMEOUT)

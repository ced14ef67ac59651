"""Background loops that outlive unexpected errors of their steps."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

_log = logging.getLogger(__name__)


async def repeat(
    step: Callable[[], Awaitable[object]], every: float, purpose: str, wake: asyncio.Event | None = None
) -> None:
    """Run `step` until cancelled, with pauses of `every` seconds, which `wake` ends. An unexpected error is logged with
    `purpose` (a verb and its object), and the loop continues: otherwise its end would go unnoticed."""
    while True:
        if wake is not None:
            wake.clear()
        try:
            await step()
        except Exception:  # the next step may succeed
            _log.exception("Could not %s, retrying in %g s", purpose, every)
        if wake is None:
            await asyncio.sleep(every)
            continue
        with suppress(TimeoutError):
            async with asyncio.timeout(every):
                await wake.wait()

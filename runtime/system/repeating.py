"""Background loops that outlive unexpected errors of their steps."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

_log = logging.getLogger(__name__)


async def repeat(step: Callable[[], Awaitable[object]], every: float, purpose: str) -> None:
    """Run `step` until cancelled, with pauses of `every` seconds. An unexpected error is logged with `purpose` (a verb
    and its object), and the loop continues: otherwise its end would go unnoticed."""
    while True:
        try:
            await step()
        except Exception:  # the next step may succeed
            _log.exception("Could not %s, retrying in %g s", purpose, every)
        await asyncio.sleep(every)

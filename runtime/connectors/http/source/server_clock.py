"""The clock of an endpoint, compared with this machine's, at whose time the last time slice ends."""

from __future__ import annotations

import datetime as dt
import logging
import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from runtime.connectors.http.source.slices import parse_time

_RESOLUTION = dt.timedelta(seconds=1)  # of the header Date

_log = logging.getLogger(__name__)


class ServerClock:
    """Reports, once, that the next poll would begin at a time that the server has not reached."""

    def __init__(self, url: str) -> None:
        """`url` with its placeholders, for the log."""
        self._url, self._reported = url, False

    def check(self, next_poll: str, headers: Mapping[str, str]) -> None:
        """`next_poll`: where the poll after this time slice begins; `headers` of a response within the slice."""
        date = _date(headers)
        if self._reported or date is None:
            return
        ahead = parse_time(next_poll) - date
        if ahead > _RESOLUTION:
            self._reported, seconds = True, math.ceil(ahead.total_seconds())
            _log.warning(
                "The clock of this machine is %d s ahead of that of %s. Records of this time are left out: correct the "
                "clock, or increase http.slice.end.delay.ms by %d000", seconds, self._url, seconds,
            )  # fmt: skip


def _date(headers: Mapping[str, str]) -> dt.datetime | None:
    """When the server created a response; None if it does not say so."""
    try:
        return parsedate_to_datetime(headers["date"]).astimezone(dt.UTC)
    except (KeyError, ValueError):
        return None

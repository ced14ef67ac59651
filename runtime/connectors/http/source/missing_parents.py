"""Parents whose records the endpoint does not have, as the log reports them: the first one of a poll, and their number
at its end."""

from __future__ import annotations

import logging

_log = logging.getLogger(__name__)


class MissingParents:
    """The parents of one poll after another."""

    def __init__(self, url: str) -> None:
        """`url` with its placeholders, for the log."""
        self._url = url
        self._missing, self._any = 0, False

    def read(self) -> None:
        """The endpoint has the records of a parent."""
        self._any = True

    def missing(self, error: Exception) -> None:
        """The endpoint does not have them."""
        self._missing += 1
        if self._missing == 1:
            _log.warning("%s: the parent, or its records, do not exist any more; continues with the next one", error)
        else:
            _log.debug("%s", error)

    def poll_ended(self) -> None:
        """Reports how many there were. If there were no others, the URL may be wrong."""
        if self._missing > 1 and not self._any:
            _log.error(
                "No records in this poll: the endpoint responded with 404 or 410 for all %d parents. Check the URL %s",
                self._missing, self._url,
            )  # fmt: skip
        elif self._missing > 1:
            _log.warning("%d parents of %s, or their records, do not exist any more", self._missing, self._url)
        self._missing, self._any = 0, False

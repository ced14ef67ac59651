"""Errors of requests, each with the HTTP status of its response.

HerderError (500)
├── BadRequest   400   the request is invalid
├── NotFound     404   the connector, task or plugin does not exist
├── Conflict     409   the request does not fit the current state; a later attempt may succeed
├── Forbidden    403   disabled by the worker's configuration
└── Unavailable  503   the worker is starting, or its brokers are unavailable

The console's client raises errors of the same names (tui/errors.py) for these answers.
"""

from __future__ import annotations


class HerderError(Exception):
    """A request could not be carried out; `str()` is the message for the client."""

    status = 500


class BadRequest(HerderError):
    """The request is invalid."""

    status = 400


class Forbidden(HerderError):
    """The worker's configuration disables the request."""

    status = 403


class NotFound(HerderError):
    """The connector, task or plugin does not exist."""

    status = 404


class Conflict(HerderError):
    """The request does not fit the current state."""

    status = 409


class Unavailable(HerderError):
    """The worker cannot answer now."""

    status = 503


NOT_HERE = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
"""Connect's message for a request that another worker has to carry out (FACTS.md, 8)."""

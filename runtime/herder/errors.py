"""Why a request is refused, with the HTTP status it is answered with.

HerderError (500)
├── BadRequest   400   the request itself is wrong
├── NotFound     404   what it names does not exist
├── Conflict     409   it does not fit the present state; trying again may help
├── Forbidden    403   switched off by the worker's configuration
└── Unavailable  503   the worker is starting, or its brokers are away
"""

from __future__ import annotations


class HerderError(Exception):
    """A request could not be carried out; `str()` is the message for the client."""

    status = 500


class BadRequest(HerderError):
    status = 400


class Forbidden(HerderError):
    status = 403


class NotFound(HerderError):
    status = 404


class Conflict(HerderError):
    status = 409


class Unavailable(HerderError):
    status = 503

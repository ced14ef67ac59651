"""What Apache's workers ask of each other (KIP-507). This worker shares its key with nobody: nothing gets in here.

Refusals are Apache's, so that a worker, or whoever pretends to be one, learns what it would learn there.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import NoReturn

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.errors import BadRequest, Forbidden
from runtime.rest import bodies
from runtime.rest.receiving import parsed

SIGNATURE, ALGORITHM = "X-Connect-Authorization", "X-Connect-Request-Signature-Algorithm"
_OURS = "HmacSHA256"
_KNOWN = ("hmacsha1", "hmacsha224", "hmacsha256", "hmacsha384", "hmacsha512", "hmacmd5")


async def task_configs(request: Request) -> Response:
    """POST /connectors/{name}/tasks: a worker hands the leader new task configs."""
    await parsed(request, _task_configs)
    _refuse(request)


def _task_configs(body: bytes) -> None:
    found = bodies.parse(body, exact_numbers=True)
    if not isinstance(found, list):
        raise BadRequest("The request body must be an array of task configurations")
    for i, config in enumerate(found):
        bodies.config_map(config, f"[{i}]")


async def fence(request: Request) -> Response:
    """PUT /connectors/{name}/fence: a worker asks the leader to fence older tasks."""
    _refuse(request)


def _refuse(request: Request) -> NoReturn:
    signature, algorithm = request.headers.get(SIGNATURE), request.headers.get(ALGORITHM)
    if signature is None or algorithm is None:
        raise BadRequest("Internal request missing required signature")
    if algorithm.lower() not in _KNOWN:
        raise BadRequest(f"Algorithm {algorithm} not available")
    if algorithm != _OURS:
        raise BadRequest(
            f"This worker does not support the '{algorithm}' key signing algorithm used by other workers. "
            f"This worker is currently configured to use: [{_OURS}]. Check that all workers' configuration files "
            "permit the same set of signature algorithms, and correct any misconfigured worker and restart it."
        )
    try:
        b64decode(signature, validate=True)
    except binascii.Error as e:
        raise BadRequest(f"The signature is not base64: {e}") from None
    raise Forbidden("Internal request contained invalid signature.")

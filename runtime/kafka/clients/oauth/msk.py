"""Tokens for Amazon MSK with IAM, from AWS's own signer. On the wire they are those of OAUTHBEARER.

Java's clients have them from aws-msk-iam-auth, in two forms: the mechanism AWS_MSK_IAM with its login module, and
OAUTHBEARER with its callback handler."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from runtime.kafka.clients.oauth.token_endpoint import TokenRefused
from runtime.kafka.errors import ClientConfigError, EndpointUnavailable

MECHANISM = "AWS_MSK_IAM"
CLIENT_HANDLER = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
LOGIN_HANDLER = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"

_PACKAGE = "aws_msk_iam_sasl_signer"
_HOST = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_PROFILE, _ROLE, _SESSION = "awsProfileName", "awsRoleArn", "awsRoleSessionName"
_WITHOUT_EFFECT = ("awsDebugCreds", "awsMaxRetries", "awsMaxBackOffTimeMs")
_UNREACHABLE = ("EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "ConnectionClosedError")


def msk_settings(servers: str, origin: str, options: Mapping[str, str]) -> dict[str, str]:
    """What the signer needs: `region`, and the options of the login module that `origin` names. ClientConfigError if
    the signer is not installed, or cannot do the same as Java's login module."""
    if find_spec(_PACKAGE) is None:
        raise ClientConfigError(
            f"sasl.mechanism={MECHANISM} needs the Python package aws-msk-iam-sasl-signer-python: "
            "pip install 'headrace[msk]'"
        )
    known = (_PROFILE, _ROLE, _SESSION)
    if unknown := [name for name in options if name not in (*known, *_WITHOUT_EFFECT)]:
        raise ClientConfigError(
            f"{origin} has options that AWS's signer for Python does not support: {', '.join(unknown)}. Set up the "
            f"credentials in a profile of AWS, and name it in {_PROFILE}"
        )
    return {"region": _region(servers), **{name: options[name] for name in known if options.get(name)}}


def _region(servers: str) -> str:
    """As in Java, that of the brokers' names; else, for names of one's own, that of the environment."""
    if match := _HOST.search(servers):
        return match[1]
    if region := next(filter(None, map(os.environ.get, _REGIONS)), None):
        return region
    raise ClientConfigError(
        f"sasl.mechanism={MECHANISM}: the names in bootstrap.servers={servers} have no region of AWS; set "
        f"{_REGIONS[0]} in the environment"
    )


def msk_token(settings: Mapping[str, str]) -> tuple[str, float]:
    """A token, and when it expires, in seconds since the epoch. Raises TokenRefused or EndpointUnavailable. Blocks."""
    try:
        value, expires = _call(import_module(f"{_PACKAGE}.MSKAuthTokenProvider"), settings)()
    except Exception as e:  # the signer's own, and those of botocore
        kind = EndpointUnavailable if type(e).__name__ in _UNREACHABLE else TokenRefused
        raise kind(f"sasl.mechanism={MECHANISM}: AWS's signer has no token: {type(e).__name__}: {e}") from None
    return str(value), float(expires) / 1000


def _call(signer: Any, settings: Mapping[str, str]) -> Callable[[], tuple[str, float]]:
    region, profile, role = settings["region"], settings.get(_PROFILE), settings.get(_ROLE)
    if role:
        return lambda: signer.generate_auth_token_from_role_arn(region, role, settings.get(_SESSION) or "headrace")
    if profile:
        return lambda: signer.generate_auth_token_from_profile(region, profile)
    return lambda: signer.generate_auth_token(region)

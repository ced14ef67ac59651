"""Tokens for Amazon MSK: settings in both forms, and the interface of AWS's signer, here of a stub."""

from __future__ import annotations

import re
import sys
import time
from types import ModuleType
from typing import Any

import pytest

from runtime.kafka.clients.oauth import tokens
from runtime.kafka.clients.oauth.oauth_settings import OAUTH
from runtime.kafka.clients.oauth.token_endpoint import TokenRefused
from runtime.kafka.clients.oauth.tokens import native_settings, provider, token_for
from runtime.kafka.clients.settings import client_config
from runtime.kafka.errors import ClientConfigError, EndpointUnavailable

SERVERS = "b-1.c.abc.c2.kafka.eu-west-1.amazonaws.com:9098"
MODULE = "software.amazon.msk.auth.iam.IAMLoginModule required"


class EndpointConnectionError(Exception):
    """As botocore's."""


class Signer(ModuleType):
    """The calls of aws_msk_iam_sasl_signer.MSKAuthTokenProvider; `failure` is raised by the next one."""

    def __init__(self) -> None:
        super().__init__("MSKAuthTokenProvider")
        self.calls: list[tuple[str, ...]] = []
        self.failure: Exception | None = None

    def generate_auth_token(self, region: str, aws_debug_creds: bool = False) -> tuple[str, int]:
        return self._token("default", region)

    def generate_auth_token_from_profile(self, region: str, aws_profile: str) -> tuple[str, int]:
        return self._token("profile", region, aws_profile)

    def generate_auth_token_from_role_arn(
        self, region: str, role_arn: str, sts_session_name: str = ""
    ) -> tuple[str, int]:
        return self._token("role", region, role_arn, sts_session_name)

    def _token(self, *call: str) -> tuple[str, int]:
        self.calls.append(call)
        if self.failure is not None:
            raise self.failure
        return f"aHR0cHM-{len(self.calls)}", int((time.time() + 900) * 1000)


@pytest.fixture
def signer(monkeypatch: pytest.MonkeyPatch) -> Signer:
    monkeypatch.setattr(tokens, "_caches", {})
    package, signer = ModuleType("aws_msk_iam_sasl_signer"), Signer()
    monkeypatch.setitem(sys.modules, package.__name__, package)
    monkeypatch.setitem(sys.modules, f"{package.__name__}.{signer.__name__}", signer)
    monkeypatch.setattr("runtime.kafka.clients.oauth.msk.find_spec", lambda name: package)
    return signer


def java(options: str = "", **more: str) -> dict[str, str]:
    login = {"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": f"{MODULE} {options};"}
    handler = {"sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler"}
    return {"bootstrap.servers": SERVERS, "security.protocol": "SASL_SSL", **login, **handler, **more}


def settings(properties: dict[str, str], connector: dict[str, str] | None = None) -> dict[str, Any]:
    return client_config(properties, "producer", connector).settings


def test_both_clients_get_a_token_of_the_brokers_region(signer: Signer) -> None:
    translated = settings(java())
    native = native_settings(translated)
    assert native["sasl.mechanism"] == "OAUTHBEARER"
    value, expires, principal, extensions = native["oauth_cb"]("")
    assert (value, principal, extensions) == ("aHR0cHM-1", "", {})
    assert expires == pytest.approx(time.time() + 900, abs=30)
    assert provider(translated[OAUTH]).token() == value
    assert signer.calls == [("default", "eu-west-1")]


def test_the_form_of_oauthbearer(signer: Signer) -> None:
    form = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
        "sasl.login.callback.handler.class": "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler",
    }
    token_for(settings(java(**form))[OAUTH])
    assert signer.calls == [("default", "eu-west-1")]


def test_profiles_and_roles(signer: Signer) -> None:
    token_for(settings(java('awsProfileName="mine"'))[OAUTH])
    token_for(settings(java('awsRoleArn="arn:aws:iam::1:role/r" awsRoleSessionName=s awsDebugCreds=true'))[OAUTH])
    assert signer.calls == [
        ("profile", "eu-west-1", "mine"),
        ("role", "eu-west-1", "arn:aws:iam::1:role/r", "s"),
    ]


def test_the_region_of_brokers_with_other_names(signer: Signer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ClientConfigError, match=r"bootstrap\.servers=kafka\.example\.org:9098 have no region of AWS"):
        settings(java(**{"bootstrap.servers": "kafka.example.org:9098"}))
    monkeypatch.setenv("AWS_REGION", "us-east-2")
    token_for(settings(java(**{"bootstrap.servers": "kafka.example.org:9098"}))[OAUTH])
    assert signer.calls == [("default", "us-east-2")]


@pytest.mark.parametrize(
    "failure, kind",
    [
        (ValueError("AWS Credentials can not be empty"), TokenRefused),
        (EndpointConnectionError("no route to STS"), EndpointUnavailable),
    ],
)
def test_what_the_signer_reports(signer: Signer, failure: Exception, kind: type[Exception]) -> None:
    signer.failure = failure
    with pytest.raises(kind, match=re.escape(str(failure))):
        token_for(settings(java())[OAUTH])


def test_options_that_the_signer_lacks_are_refused(signer: Signer) -> None:
    with pytest.raises(ClientConfigError, match="does not support: awsRoleExternalId"):
        settings(java("awsRoleArn=r awsRoleExternalId=x"))


def test_without_the_signer_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.kafka.clients.oauth.msk.find_spec", lambda name: None)
    with pytest.raises(ClientConfigError, match=r"aws-msk-iam-sasl-signer-python: pip install 'headrace\[msk\]'$"):
        settings(java())


def test_a_connector_uses_only_identities_of_the_worker(signer: Signer) -> None:
    """Its brokers get the token."""
    own = {f"producer.override.{key}": value for key, value in java("awsProfileName=mine").items()}
    with pytest.raises(ClientConfigError, match=r"identity of AWS \(awsProfileName=mine\) is not allowed"):
        settings({}, own)
    for other in ("awsProfileName=mine2", ""):
        with pytest.raises(ClientConfigError, match="not allowed"):
            settings({f"producer.{key}": value for key, value in java(other).items()}, own)
    allowed = {f"producer.{key}": value for key, value in java("awsProfileName=mine").items()}
    assert OAUTH in settings(allowed, own)

"""Tokens for OAUTHBEARER: each way to get one, its cache, and what is refused."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from runtime.kafka.clients.oauth.oauth_settings import OAUTH
from runtime.kafka.clients.oauth.token_endpoint import TokenRefused
from runtime.kafka.clients.oauth.tokens import AccessToken, TokenCache, native_settings, provider, token_for
from runtime.kafka.clients.settings import client_config
from runtime.kafka.errors import ClientConfigError, EndpointUnavailable
from runtime.kafka.log.log import TopicLogs, TopicSpec
from runtime.rest.security.tls import server_context
from tests.support.servers.java_stores import KEYS, ROOT, TRUST
from tests.support.servers.token_endpoint import TokenEndpoint, token_endpoint, unsigned_token
from tests.support.waiting import until, wait_until

P = "sasl.oauthbearer."
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
BEARER = {f"{P}jwt.retriever.class": "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever"}


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with token_endpoint() as served:
        yield served


def java(url: str, options: str = "", **more: str) -> dict[str, str]:
    login = {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"{MODULE} {options};"}
    return {"security.protocol": "SASL_SSL", **login, f"{P}token.endpoint.url": url, **more}


def credentials(user: str = "ann", password: str = "ann-secret") -> dict[str, str]:
    return {f"{P}client.credentials.client.id": user, f"{P}client.credentials.client.secret": password}


def oauth(properties: dict[str, str]) -> str:
    return str(client_config(properties, "admin").settings[OAUTH])


def token(properties: dict[str, str]) -> AccessToken:
    return token_for(oauth(properties))


def claims(value: str) -> dict[str, Any]:
    part = value.split(".")[1]
    return dict(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))))


def test_client_credentials(endpoint: TokenEndpoint) -> None:
    """In the form of Kafka 4, and in that of Kafka 3, whose options the properties replace."""
    assert token(java(endpoint.url, **credentials(), **{f"{P}scope": "all of it"})).principal == "ann"
    options = "clientId=bob clientSecret='bob-secret' scope=some"
    assert token(java(endpoint.url, options)).principal == "bob"
    assert token(java(endpoint.url, options, **credentials())).principal == "ann"
    asked = [(r["user"], r["grant_type"], r["scope"]) for r in endpoint.requests]
    assert asked == [(u, "client_credentials", s) for u, s in (("ann", "all of it"), ("bob", "some"), ("ann", "some"))]


def test_extensions_and_the_forms_of_both_clients(endpoint: TokenEndpoint) -> None:
    text = oauth(java(endpoint.url, 'extension_pool="a b" extension_cluster=c', **credentials()))
    native = native_settings({OAUTH: text, "client.id": "x"})
    value, expires, principal, extensions = native["oauth_cb"]("")
    assert set(native) == {"oauth_cb", "client.id"}
    assert (principal, extensions) == ("ann", {"pool": "a b", "cluster": "c"})
    assert expires == pytest.approx(time.time() + 3600, abs=60)
    python = provider(text)
    assert (python.token(), python.extensions()) == (value, extensions)


def test_clients_that_start_together_send_one_request(endpoint: TokenEndpoint) -> None:
    text = oauth(java(endpoint.url, **credentials()))
    with ThreadPoolExecutor(8) as pool:
        assert len({t.value for t in pool.map(token_for, [text] * 50)}) == 1
    assert len(endpoint.requests) == 1


class Clock:
    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def test_a_token_is_renewed_before_it_expires_and_outlives_a_failure(endpoint: TokenEndpoint) -> None:
    clock = Clock()
    cache = TokenCache(oauth(java(endpoint.url, **credentials())), clock)
    first = cache.get()
    assert first.refresh == pytest.approx(first.fetched + 0.8 * 3600, abs=5)
    clock.ahead = 0.8 * 3600 + 10
    endpoint.failures, endpoint.token = [401], unsigned_token("ann", 9000)
    wait_until(lambda: cache.get() and len(endpoint.requests) == 2, 10)
    assert cache.get() is first
    clock.ahead += 10
    wait_until(lambda: cache.get() is not first, 10)
    assert len(endpoint.requests) == 3


def test_a_failure_is_not_repeated_for_an_hour_if_the_clock_is_set_back(endpoint: TokenEndpoint) -> None:
    clock = Clock()
    cache = TokenCache(oauth(java(endpoint.url, **credentials())), clock)
    endpoint.failures = [401]
    for _ in range(2):
        with pytest.raises(TokenRefused):
            cache.get()
    clock.ahead = -3600
    assert cache.get().principal == "ann"


def test_errors_of_the_endpoint_are_retried(endpoint: TokenEndpoint) -> None:
    endpoint.failures = [503, 503]
    assert token(java(endpoint.url, **credentials())).principal == "ann"
    limits = {"sasl.login.retry.backoff.ms": "1", "sasl.login.retry.backoff.max.ms": "50"}
    endpoint.failures = [503] * 100
    with pytest.raises(EndpointUnavailable, match=r"refused the client: 503 .* \(busy\)"):
        token(java(endpoint.url, **credentials("eve", "eve-secret"), **limits))


def test_a_refused_client_is_named_without_its_secret(endpoint: TokenEndpoint) -> None:
    with pytest.raises(TokenRefused) as error:
        token(java(endpoint.url, **credentials("ann", "wrong-one")))
    message = (
        f"{P}token.endpoint.url={endpoint.url} refused the client: 401 Unauthorized (invalid_client: unknown client)"
    )
    assert str(error.value) == message
    with pytest.raises(TokenRefused):
        token(java(endpoint.url, **credentials("ann", "wrong-one")))
    assert len(endpoint.requests) == 1, "many clients would ask without a pause"


def test_an_endpoint_that_does_not_respond() -> None:
    limits = {"sasl.login.retry.backoff.max.ms": "1", "sasl.login.connect.timeout.ms": "200"}
    with pytest.raises(EndpointUnavailable, match=rf"{P}token.endpoint.url=http://127.0.0.1:1/x cannot be reached: "):
        token(java("http://127.0.0.1:1/x", **credentials(), **limits))


def test_an_endpoint_that_accepts_and_says_nothing() -> None:
    limits = {"sasl.login.retry.backoff.max.ms": "1", "sasl.login.read.timeout.ms": "50"}
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(EndpointUnavailable, match="no response in time"):
            token(java(url, **credentials(), **limits))


def test_names_and_secrets_are_encoded_if_the_endpoint_wants_it(endpoint: TokenEndpoint) -> None:
    encode = {f"{P}header.urlencode": "true", f"{P}sub.claim.name": "client"}
    endpoint.token = unsigned_token("x", client="known")
    assert token(java(endpoint.url, **credentials("a b", "a b-secret"), **encode)).principal == "known"
    assert endpoint.requests[0]["user"] == "a+b"


def test_an_endpoint_with_tls() -> None:
    """The options of the login module name the stores."""
    served = server_context({**KEYS["JKS"], "ssl.truststore.location": str(ROOT), "ssl.client.auth": "required"})
    with token_endpoint(served) as endpoint:
        stores = {**KEYS["JCEKS"], **TRUST["PKCS12"]}
        options = " ".join(f"{key}={json.dumps(value)}" for key, value in stores.items())
        assert token(java(endpoint.url, options, **credentials())).principal == "ann"
        with pytest.raises(EndpointUnavailable, match="certificate"):
            token(java(endpoint.url, **credentials(), **{"sasl.login.retry.backoff.max.ms": "1"}))


@pytest.mark.parametrize(
    "life, factor, buffer, minimum, refresh",
    [
        (3600, 0.8, 300, 60, 2880),
        (3600, 0.5, 300, 60, 1800),
        (3600, 0.8, 1200, 60, 2400),
        (3600, 0.8, 300, 3000, 3000),
        (300, 0.8, 300, 60, 240),
    ],
)
def test_the_time_of_renewal(
    endpoint: TokenEndpoint, life: int, factor: float, buffer: int, minimum: int, refresh: int
) -> None:
    """As Java's ExpiringCredentialRefreshingLogin, without its jitter."""
    endpoint.seconds = life
    limits = {"window.factor": factor, "buffer.seconds": buffer, "min.period.seconds": minimum}
    more = {f"sasl.login.refresh.{name}": str(value) for name, value in limits.items()}
    new = token(java(endpoint.url, **credentials(), **more))
    assert new.refresh - new.fetched == pytest.approx(refresh, abs=5)


async def test_storage_topics_wait_for_an_endpoint_that_does_not_respond() -> None:
    limits = {"sasl.login.retry.backoff.max.ms": "1", "security.protocol": "SASL_PLAINTEXT"}
    properties = java("http://127.0.0.1:1/x", **credentials(), **limits)
    logs = TopicLogs(client_config({**properties, "bootstrap.servers": "127.0.0.1:1"}, "admin").settings)
    logs.open(TopicSpec("t", 1, 1, "config.storage"), lambda records: None)
    starting = asyncio.create_task(logs.start())
    try:
        await until(lambda: f"{P}token.endpoint.url=http://127.0.0.1:1/x cannot be reached" in logs.error)
        assert not starting.done()
    finally:
        await logs.close()
        starting.cancel()


@pytest.mark.parametrize(
    "issued, message",
    [
        ("opaque", "sent a token that is not a JWT"),
        (unsigned_token(""), "has no claim sub"),
        (unsigned_token("ann", -1), "has expired"),
        ("a.bm90IGpzb24.c", "sent a token that is not a JWT"),
        (unsigned_token("ann") + "\r\n", "sent a token that is not a JWT"),
    ],
)
def test_tokens_that_cannot_be_used(endpoint: TokenEndpoint, issued: str, message: str) -> None:
    endpoint.token = issued
    with pytest.raises(TokenRefused, match=message):
        token(java(endpoint.url, **credentials()))


def test_a_token_in_a_file(tmp_path: Path) -> None:
    """It is read again when it is renewed."""
    file, clock = tmp_path / "a token", Clock()
    file.write_text(unsigned_token("carl") + "\n")
    cache = TokenCache(oauth(java(file.as_uri())), clock)
    assert cache.get().principal == "carl"
    file.write_text(unsigned_token("dora", 9000))
    clock.ahead = 4000
    assert cache.get().principal == "dora"
    with pytest.raises(ClientConfigError, match=r"token.endpoint.url=/none cannot be read: No such file"):
        token(java("file:///none"))


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_jwt_bearer(endpoint: TokenEndpoint, tmp_path: Path, algorithm: str) -> None:
    rs = algorithm == "RS256"
    key = rsa.generate_private_key(65537, 2048) if rs else ec.generate_private_key(ec.SECP256R1())
    encryption = BestAvailableEncryption(b"phrase") if rs else NoEncryption()
    (tmp_path / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    (tmp_path / "template").write_text('{"header": {"kid": "7"}, "payload": {"tenant": "t"}}')
    given = {
        "algorithm": algorithm,
        "private.key.file": str(tmp_path / "key.pem"),
        "claim.iss": "me",
        "claim.aud": "as",
    }
    given |= {
        "claim.sub": "s",
        "claim.jti.include": "true",
        "claim.exp.seconds": "60",
        "claim.nbf.seconds": "20",
        "private.key.passphrase": "phrase",
    }
    given["template.file"] = str(tmp_path / "template")
    properties = java(endpoint.url, **BEARER, **{f"{P}assertion.{k}": v for k, v in given.items()})
    assert token(properties).principal == "asserted"
    (request,) = endpoint.requests
    assert request["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    signed, _, signature = request["assertion"].rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    if isinstance(key, rsa.RSAPrivateKey):
        key.public_key().verify(raw, signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    else:
        halves = (int.from_bytes(half, "big") for half in (raw[:32], raw[32:]))
        key.public_key().verify(encode_dss_signature(*halves), signed.encode(), ec.ECDSA(hashes.SHA256()))
    sent = claims(request["assertion"])
    assert {k: sent[k] for k in ("iss", "aud", "sub", "tenant")} == {
        "iss": "me",
        "aud": "as",
        "sub": "s",
        "tenant": "t",
    }
    assert (sent["exp"] - sent["iat"], sent["iat"] - sent["nbf"]) == (60, 20)
    assert sent["jti"]


def test_an_assertion_in_a_file(endpoint: TokenEndpoint, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x.y.z\n")
    assert token(java(endpoint.url, **BEARER, **{f"{P}assertion.file": str(tmp_path / "a")})).principal == "asserted"
    assert endpoint.requests[0]["assertion"] == "x.y.z"


@pytest.mark.parametrize(
    "more, message",
    [
        ({}, f"needs {P}client.credentials.client.id, or clientId in sasl.jaas.config"),
        ({f"{P}jwt.validator.class": "com.example.Mine"}, f"{P}jwt.validator.class=com.example.Mine is not supported"),
        ({**credentials(), f"{P}token.endpoint.url": ""}, f"needs {P}token.endpoint.url"),
        ({**credentials(), f"{P}token.endpoint.url": "ftp://x"}, "must begin with https:, http: or file:"),
        (BEARER, f"needs either {P}assertion.file or {P}assertion.private.key.file"),
        ({f"{P}jwt.retriever.class": "com.example.Mine"}, f"{P}jwt.retriever.class=com.example.Mine is not supported"),
        (
            {**credentials(), "sasl.login.read.timeout.ms": "soon"},
            "Invalid value soon for configuration sasl.login.read",
        ),
        ({**credentials(), f"{P}assertion.algorithm": "HS256"}, "assertion.algorithm=HS256 is not supported"),
    ],
)
def test_properties_that_cannot_be_used(more: dict[str, str], message: str) -> None:
    with pytest.raises(ClientConfigError, match=re.escape(message)):
        oauth(java("http://127.0.0.1:1/t", **more))


def test_a_connector_sends_the_worker_to_no_other_endpoint_or_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it could read files of the worker, which its brokers would get as a token."""
    own = {f"producer.override.{k}": v for k, v in java("file:///etc/passwd").items()}
    with pytest.raises(ClientConfigError, match=rf"{P}token\.endpoint\.url=file:///etc/passwd is not allowed"):
        client_config({}, "producer", own)
    assert client_config({f"producer.{P}token.endpoint.url": "file:///etc/passwd"}, "producer", own).settings[OAUTH]
    allowed = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://a,file:///etc/passwd"
    monkeypatch.setenv("KAFKA_OPTS", allowed)
    assert client_config({}, "producer", own).settings[OAUTH]
    key = {
        f"producer.override.{P}assertion.private.key.file": "/etc/key",
        **{f"producer.override.{k}": v for k, v in BEARER.items()},
    }
    with pytest.raises(ClientConfigError, match=rf"{P}assertion\.private\.key\.file=/etc/key is not allowed"):
        client_config({}, "producer", {**own, **key})

"""HttpSink: credentials, tokens and certificates."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from runtime.api.errors import ConfigError
from tests.support.servers.certificates import make_stores
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.tasks.task_contexts import DeadLetterList
from tests.unit.runtime.connectors.http.sink.test_http_sink import OK, delivered, failure, ok, records, sink


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {"http.auth.type": "basic", "http.auth.username": "u", "http.auth.password": "s3cret"},
            lambda r: r.headers["authorization"] == "Basic " + base64.b64encode(b"u:s3cret").decode(),
        ),
        (
            {"http.auth.type": "bearer", "http.auth.token": "s3cret"},
            lambda r: r.headers["authorization"] == "Bearer s3cret",
        ),
        ({"http.auth.type": "api-key", "http.auth.api.key": "s3cret"}, lambda r: r.headers["x-api-key"] == "s3cret"),
        (
            {
                "http.auth.type": "api-key", "http.auth.api.key": "s3cret", "http.auth.api.key.in": "query",
                "http.auth.api.key.name": "key",
            },
            lambda r: r.query == {"x": "1", "key": "s3cret"},
        ),
    ],
)  # fmt: skip
def test_credentials_are_sent_to_the_endpoint_and_never_to_another_host(
    config: Mapping[str, str], expected: Callable[[Received], bool], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    with http_server(ok) as other:

        def respond(request: Received) -> Answer:
            if request.path == "/away":
                return 307, {"Location": f"{other.url}/landed"}, ""
            return (307, {"Location": "/near"}, "") if request.path == "/in" else (400, {}, f"echo {request.headers}")

        letters = DeadLetterList()
        secret_header = {"http.header.X-Tenant": "tenant-7"}
        with http_server(respond) as server:
            with sink(f"{server.url}/in?x=1", letters, **config, **secret_header) as task:
                task.put(records(1))
                delivered(task, 1)
            with sink(f"{server.url}/away?x=1", letters, **config, **secret_header) as task:
                task.put(records(1))
                delivered(task, 1)
        assert server.received[0].path == "/in" and expected(server.received[0])
        (landed,) = other.received
        assert landed.body == b"[1]" and landed.query == {}
        assert not {"authorization", "x-api-key", "x-tenant", "cookie"} & set(landed.headers)
        ((_, error),) = letters.reported
        assert "s3cret" not in f"{error!r} {caplog.text}" and "czNjcmV0" not in caplog.text
        assert "status 400" in str(error)


def test_oauth2_tokens_are_kept_and_renewed_after_a_401() -> None:
    tokens = iter(["one", "two"])
    forms: list[dict[str, list[str]]] = []

    def issue(request: Received) -> Answer:
        forms.append(parse_qs(request.body.decode()))
        assert request.headers["authorization"] == "Basic " + base64.b64encode(b"me:s3cret").decode()
        return 200, {}, {"access_token": next(tokens), "expires_in": 3600}

    def respond(request: Received) -> Answer:
        expired = len(server.received) > 2 and request.headers["authorization"] == "Bearer one"
        return (401, {}, "expired") if expired else OK

    with http_server(issue) as issuer, http_server(respond) as server:
        config = {
            "http.auth.type": "oauth2",
            "http.oauth2.token.url": f"{issuer.url}/token",
            "http.oauth2.client.id": "me",
            "http.oauth2.client.secret": "s3cret",
            "http.oauth2.scope": "write",
        }
        with sink(server.url, **config) as task:
            for n in range(4):
                task.put(records(n, first=n))
                delivered(task, n + 1)
        assert forms == [{"grant_type": ["client_credentials"], "scope": ["write"]}] * 2
        assert [r.headers["authorization"] for r in server.received] == [
            "Bearer one", "Bearer one", "Bearer one", "Bearer two", "Bearer two",
        ]  # fmt: skip


def test_tls_with_a_private_authority_and_client_certificates(tmp_path: Path) -> None:
    own, client = make_stores(tmp_path / "server"), make_stores(tmp_path / "client", "client")
    tls: dict[str, Any] = {
        "ssl_certfile": own.pem, "ssl_keyfile": own.pem, "ssl_ca_certs": str(client.trust),
        "ssl_cert_reqs": ssl.CERT_REQUIRED,
    }  # fmt: skip
    with http_server(ok, **tls) as server:
        ours = {"http.ssl.ca.file": str(own.trust), "http.ssl.certificate.file": str(client.pem)}
        with sink(server.url, **ours) as task:
            task.put(records(1))
            delivered(task, 1)
        with sink(server.url, **{"http.ssl.verify": "false", "http.ssl.certificate.file": str(client.pem)}) as task:
            task.put(records(1))
            delivered(task, 1)
        for config in ({}, {"http.ssl.ca.file": str(own.trust)}):
            with sink(server.url, http_retries="0", **config) as task:
                task.put(records(1))
                assert "failed" in str(failure(task))
        assert len(server.received) == 2


def test_an_encrypted_key_without_its_password_is_an_error(tmp_path: Path) -> None:
    stores = make_stores(tmp_path)
    key = load_pem_private_key(stores.pem.read_bytes(), None)
    encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"password"))
    stores.pem.write_bytes(encrypted + stores.trust.read_bytes())
    files = {"http.ssl.ca.file": str(stores.trust), "http.ssl.certificate.file": str(stores.pem)}
    with pytest.raises(ConfigError, match=r"The files of http\.ssl"), sink("https://127.0.0.1:1", **files):
        pass

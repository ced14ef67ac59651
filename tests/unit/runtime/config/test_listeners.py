"""Listeners, the advertised address, and `ssl.*` settings."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.config.listeners import Listener, ListenerError, admin, advertised, https_settings, own_address, parse

NONE: dict[str, Any] = {
    "rest.advertised.listener": None, "rest.advertised.host.name": None, "rest.advertised.port": None
}  # fmt: skip


def test_listeners() -> None:
    assert parse("listeners", ["http://:8083", "HTTPS://h:0", "http://[::1]:1"]) == (
        Listener("http", "", 8083),
        Listener("https", "h", 0),
        Listener("http", "::1", 1),
    )
    for bad in ([], [""], ["h:1"], ["http://h"], ["http://h:x"], ["http://h:99999"], ["ftp://h:1"]):
        with pytest.raises(ListenerError, match="listeners"):
            parse("listeners", bad)


def test_admin_listeners_are_shared_disabled_or_separate() -> None:
    assert admin(None) is None
    assert admin([]) == admin([""]) == ()
    assert admin(["http://h:1"]) == (Listener("http", "h", 1),)


def test_the_advertised_address() -> None:
    both = parse("listeners", ["https://0.0.0.0:8443", "http://h:8083"])
    assert advertised(NONE, both).scheme == "http"
    loopback = parse("listeners", ["http://127.0.0.1:8083"])
    assert advertised(NONE, loopback).url(loopback[0], 8083, lambda: "192.0.2.7") == "http://127.0.0.1:8083"
    named = {**NONE, "rest.advertised.listener": "HTTPS", "rest.advertised.host.name": "x", "rest.advertised.port": 1}
    assert advertised(named, both).url(both[0], 8443) == "https://x:1"
    with pytest.raises(ListenerError):
        advertised({**NONE, "rest.advertised.listener": "https"}, both[1:])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("host.name", "http://worker-1"), ("host.name", "worker-1:8083"), ("host.name", "a b"), ("host.name", "a/b"),
        ("port", 0), ("port", 65536),
    ],
)  # fmt: skip
def test_an_address_that_no_worker_can_reach_is_refused(key: str, value: object) -> None:
    with pytest.raises(ListenerError, match=rf"rest.advertised.{key}={value}: expected"):
        advertised({**NONE, f"rest.advertised.{key}": value}, parse("listeners", ["http://h:8083"]))


@pytest.mark.parametrize("host", ["2001:db8::1", "[2001:db8::1]"])
def test_an_advertised_address_of_ipv6_may_have_brackets(host: str) -> None:
    listeners = parse("listeners", ["http://h:8083"])
    url = advertised({**NONE, "rest.advertised.host.name": host}, listeners).url(listeners[0], 8083)
    assert url == "http://[2001:db8::1]:8083"


@pytest.mark.parametrize("host", ["", "0.0.0.0", "[::]"])
def test_a_listener_on_all_interfaces_advertises_the_address_of_the_machine(host: str) -> None:
    (listener,) = listeners = parse("listeners", [f"http://{host}:8083"])
    assert advertised(NONE, listeners).url(listener, 8083, lambda: "192.0.2.7") == "http://192.0.2.7:8083"
    assert advertised(NONE, listeners).url(listener, 8083) == f"http://{own_address()}:8083"


def test_prefixed_settings_replace_the_workers_own() -> None:
    plain = {"ssl.keystore.location": "a", "ssl.client.auth": "required"}
    assert https_settings(plain) == plain
    assert https_settings({**plain, "listeners.https.ssl.keystore.location": "b"}) == {"ssl.keystore.location": "b"}

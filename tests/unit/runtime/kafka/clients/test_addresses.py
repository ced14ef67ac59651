"""Addresses of bootstrap servers are checked when a client is created, as in Java."""

from __future__ import annotations

import pytest

from runtime.kafka.clients.addresses import check_resolvable
from runtime.kafka.clients.settings import client_config
from runtime.kafka.errors import ClientConfigError


@pytest.mark.parametrize(
    "servers", ["localhost:9092", "a:1,b:2", "[::1]:9092", "SASL_SSL://kafka-1.example.com:9093", " a:1 , b:2 "]
)
def test_addresses_with_a_port_are_accepted(servers: str) -> None:
    assert client_config({"bootstrap.servers": servers}, "admin").settings["bootstrap.servers"] == servers.strip()


@pytest.mark.parametrize("servers", ["nobrokerrunningatthisaddress", "a:1,b", ":9092", "a:port"])
def test_an_address_without_host_or_port_is_refused(servers: str) -> None:
    with pytest.raises(ClientConfigError, match=r"Invalid url in bootstrap.servers: .*; expected host:port"):
        client_config({"bootstrap.servers": servers}, "admin")


def test_hosts_that_nobody_has_are_refused() -> None:
    with pytest.raises(ClientConfigError, match=r"No resolvable bootstrap urls.* broker\.invalid"):
        check_resolvable("broker.invalid:9092")


def test_one_host_that_exists_is_enough() -> None:
    check_resolvable("broker.invalid:9092,127.0.0.1:9092")

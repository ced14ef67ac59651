"""HttpSink and HttpSource, with a server on the loopback interface."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.connectors.http.sink.connector import HttpSinkConnector
from runtime.connectors.http.source.connector import HttpSourceConnector
from runtime.plugin_kit import Case, SinkCase, SourceCase
from runtime.plugin_kit.conformance.case import Config
from tests.support.servers.http_endpoint import Answer, HttpTestServer, Received, http_server

_PAGE = 30
_SERVERS: dict[str, HttpTestServer] = {}  # by URL


def _accept(request: Received) -> Answer:
    refused = any(isinstance(value, dict) and "unexpected" in value for value in request.json)
    return (422, {}, "unexpected") if refused else (200, {}, "")


@contextmanager
def _sink_server(folder: Path) -> Iterator[Config]:
    with http_server(_accept) as server:
        _SERVERS[server.url] = server
        try:
            yield {"http.url": server.url}
        finally:
            del _SERVERS[server.url]


def _written(config: Config) -> Iterator[int]:
    for request in _SERVERS[config["http.url"]].received:
        if _accept(request)[0] == 200:
            yield from (value["n"] for value in request.json if isinstance(value, dict))


def _items(request: Received) -> Answer:
    start = int(request.query.get("offset", "0"))
    return 200, {}, [{"id": n} for n in range(start, min(start + _PAGE, 100))]


@contextmanager
def _source_server(folder: Path) -> Iterator[Config]:
    with http_server(_items) as server:
        yield {"http.url": f"{server.url}/items"}


CASES: list[Case] = [
    SinkCase(
        connector=HttpSinkConnector,
        config={"topics": "events", "http.batch.size": "20", "http.retry.backoff.ms": "20"},
        environment=_sink_server,
        value=lambda number: {"n": number},
        written=_written,
        invalid={"http.url": "file:///etc/passwd", "http.retries": "-2"},
    ),
    SourceCase(
        connector=HttpSourceConnector,
        config={"topic": "items", "http.pagination": "offset", "http.key.pointer": "/id"},
        environment=_source_server,
        invalid={"http.records.pointer": "rows", "http.pagination": "unknown"},
    ),
]

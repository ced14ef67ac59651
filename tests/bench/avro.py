"""Rows about records in Avro with a registry: Apicurio's converter in Java, and Headrace's under the same name."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from io import SEEK_END, BytesIO

import fastavro

from runtime.java.install.errors import InstallError
from tests.bench import throughput
from tests.bench.sides import JAVA, Bench, Refused, median
from tests.bench.throughput import SINK_SMTS, SOURCE_SMTS, Flow, line
from tests.support.connect import STRING, Connect
from tests.support.java.connectors import FILE, plugin_path
from tests.support.servers.apicurio import GLOBAL, StubApicurio

_CONVERTER = "io.apicurio:apicurio-registry-utils-converter:2.6.13.Final"
_KINDS = ("string",) * 6 + ("long",) * 8 + ("double",) * 2 + ("boolean",) * 2
_SCHEMA = {
    "type": "record",
    "name": "Row",
    "fields": [
        {"name": "line", "type": "string"},
        {"name": "origin", "type": ["null", "string"]},
        *({"name": f"{kind}{number}", "type": kind} for number, kind in enumerate(_KINDS)),
    ],
}


def source_avro(bench: Bench, side: str, runs: int) -> dict[str, float]:
    """Lines, which the three transformations of source-smt make records of three fields."""

    def measure(connect: Connect, registry: StubApicurio) -> Flow:
        register = {"value.converter.apicurio.registry.auto-register": "true"}
        settings = {**_settings(registry.url, side), **register, **SOURCE_SMTS}
        return throughput.source_flow(bench, connect, settings)

    return _measured("source-avro", bench, side, runs, measure)


def sink_avro(bench: Bench, side: str, runs: int) -> dict[str, float]:
    """Records of twenty fields in four partitions, with the three transformations of sink-smt, by one task."""

    def measure(connect: Connect, registry: StubApicurio) -> Flow:
        content = registry.add("default/rows", json.dumps(_SCHEMA))
        topic = throughput.filled(bench, "avro", Rows(content).message, 4)
        return throughput.sink_flow(bench, connect, topic, {**_settings(registry.url, side), **SINK_SMTS})

    return _measured("sink-avro", bench, side, runs, measure)


def _measured(
    key: str, bench: Bench, side: str, runs: int, measure: Callable[[Connect, StubApicurio], Flow]
) -> dict[str, float]:
    try:
        plugins = {"plugin.path": plugin_path(_CONVERTER, FILE), "plugin.discovery": "hybrid_warn"}
    except InstallError as missing:
        raise Refused(str(missing)) from None
    with closing(StubApicurio()) as registry, bench.running(side, plugins if side == JAVA else {}) as connect:
        flows = [measure(connect, registry).under(key) for _ in range(runs)]
        return {key: median([flow[key] for flow in flows]) for key in flows[0]}


def _settings(url: str, side: str) -> dict[str, str]:
    """Ids of eight bytes: the only ones of this version in Java, whose API is v2."""
    api, own = (
        ("v2", {})
        if side == JAVA
        else ("v3", {"value.converter.apicurio.registry.id-handler": "io.apicurio.registry.serde.Legacy8ByteIdHandler"})
    )
    return {
        "key.converter": STRING,
        "value.converter": "io.apicurio.registry.utils.converter.AvroConverter",
        "value.converter.apicurio.registry.url": f"{url}/apis/registry/{api}",
        "value.converter.apicurio.registry.use-id": "globalId",
        **own,
    }


class Rows:
    """Messages with the schema of this content id."""

    def __init__(self, content: int) -> None:
        self._head = b"\x00" + (GLOBAL + content).to_bytes(8, "big")
        self._schema = fastavro.parse_schema(_SCHEMA)

    def message(self, number: int) -> bytes:
        row: dict[str, object] = {"line": line(number), "origin": "bench"}
        row |= {f"{kind}{at}": _value(kind, number + at) for at, kind in enumerate(_KINDS)}
        out = BytesIO(self._head)
        out.seek(0, SEEK_END)
        fastavro.schemaless_writer(out, self._schema, row)
        return out.getvalue()


def _value(kind: str, number: int) -> object:
    match kind:
        case "string":
            return f"text {number}"
        case "long":
            return number * 1000
        case "double":
            return number / 8
        case _:
            return number % 2 == 0

"""Generates docs/properties.md from the worker's treatment of each property: `python -m
tests.contract.property_table`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from runtime.api.config.definition import ConfigDef, ConfigKey
from runtime.config.standalone_config import STANDALONE
from runtime.config.worker_config import DISTRIBUTED, distributed
from runtime.definitions.common import common_keys
from runtime.definitions.sink import SINK_KEYS
from runtime.definitions.source import SOURCE_KEYS
from runtime.herder.configs.task_specs import ISOLATION
from runtime.kafka.clients.names import BUILT_IN
from runtime.kafka.clients.security import _BUILT_IN as BUILT_IN_SECURITY
from runtime.kafka.clients.settings import client_config
from runtime.worker.worker_storage import client_warnings

HONOURED, IGNORED, BUILT_IN_, REFUSED = "honoured", "ignored, with a warning", "built in", "refused"
DATA = Path(__file__).parent / "data" / "properties-4.3.0.json"
"""The names that Apache Kafka Connect's own classes print."""

PAGE = Path(__file__).parents[2] / "docs" / "properties.md"

REQUIRED = {
    "group.id": "g",
    "key.converter": "x",
    "value.converter": "x",
    **{f"{kind}.storage.topic": kind for kind in ("config", "offset", "status")},
}
_OF_STORES = {"ssl.keystore.password", "ssl.keystore.type", "ssl.truststore.password", "ssl.truststore.type"}
_OF_LISTENERS = {"ssl.client.auth", "ssl.cipher.suites", "ssl.enabled.protocols"}  # and the stores' keys
_SAMPLES = {
    "security.protocol": "SSL",
    "client.dns.lookup": "use_all_dns_ips",
    "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";',
    "ssl.truststore.type": "PEM",
}
_SPECIAL = {
    "exactly.once.source.support": (HONOURED, "only `disabled`; `preparing` and `enabled` are refused"),
    "connector.client.config.override.policy": (HONOURED, "All, None, Principal and Allowlist; others are refused"),
    "ssl.truststore.location": (HONOURED, "PEM stores; a JKS store is ignored, with a warning that says what to do"),
    "ssl.keystore.location": (HONOURED, "PEM and PKCS12 stores; a JKS store is ignored with a warning"),
    "sasl.jaas.config": (HONOURED, "PLAIN, SCRAM, Kerberos and OAuth login modules; others are ignored with a warning"),
    "plugin.path": (HONOURED, "folders of Python plugins; Java plugins in them are not seen, and connectors that name "
                              "one are FAILED or refused"),
}  # fmt: skip

ISOLATION_ROW = (
    ISOLATION, HONOURED, "`dedicated`: each task has a Spark slot of its own; `shared`, the default: slots take any"
)  # fmt: skip

HEAD = """# Properties

Every property of Apache Kafka Connect {version}, and what this version of Headrace does with it. Made from the
definitions by `python -m tests.contract.property_table`; a test holds the page against the names that Connect's own
classes print.

- **honoured**: acted on, with Connect's name, default and meaning.
- **ignored, with a warning**: has no effect; the worker says so in its log at start.
- **built in**: nothing to set, since the Kafka client here does it by itself; taken without a word.
- **refused**: the worker does not start with it, or the connector is not accepted.

Properties of connectors are validated as Connect validates them; `producer.override.`, `consumer.override.` and
`admin.override.` properties, and `producer.`, `consumer.` and `admin.` ones of the worker, are translated for the
Kafka client here, and what it does not have is told in the log.
"""


def names() -> dict[str, list[str]]:
    """Connect's properties of the worker, of source and of sink connectors."""
    found: dict[str, list[str]] = json.loads(DATA.read_text())
    return found


def of_worker(name: str) -> tuple[str, str]:
    """A worker's treatment of a property, found by setting it."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    if name in DISTRIBUTED.keys:
        return HONOURED, DISTRIBUTED.keys[name].doc
    if name in _OF_LISTENERS:
        return HONOURED, "of https listeners; Kafka clients here have no such setting"
    if name in _OF_STORES:
        return HONOURED, "read with the store that it belongs to"
    value = _SAMPLES.get(name, "1234")
    config = distributed({**REQUIRED, name: value})
    for warning in (*config.warnings, *client_warnings(config)):
        if warning.startswith(name):
            return IGNORED, _reason(warning.removeprefix(name).lstrip(": "))
    if client_config({name: value}, "admin").settings != client_config({}, "admin").settings:
        return HONOURED, "of the worker's own Kafka clients"
    if name in BUILT_IN or name in BUILT_IN_SECURITY:
        return BUILT_IN_, "the Kafka client here has its own way"
    raise AssertionError(f"nobody knows what happens to {name}")


def _reason(warning: str) -> str:
    if warning.startswith("has no equal"):
        return "the Kafka client here has no such setting"
    return warning.removeprefix("has no effect: ")


def of_connector(name: str, doc: str) -> tuple[str, str]:
    """The treatment of a connector's property."""
    if name.startswith("transaction.boundary"):
        return HONOURED, f"Checked; has no effect while the worker has no exactly-once sources. {doc}"
    return HONOURED, doc


def page() -> str:
    """The whole page as Markdown."""
    connect = names()
    parts = [HEAD.format(version="4.3.0"), "\n## Workers\n\n", *_table(_worker_rows(connect["worker"]))]
    parts += ["\nA standalone worker has the properties of clients, converters, listeners and times, and\n\n"]
    parts += _table(_own_rows(k for k in STANDALONE if k.name not in DISTRIBUTED.keys))
    parts += ["\nProperties of ours, in both kinds of worker:\n\n"]
    parts += _table(_own_rows(k for k in DISTRIBUTED if k.name.startswith("headrace.")))
    parts += ["\n## Connectors\n\n", *_table(_connector_rows(connect))]
    parts += ["\nA property of ours, for connectors of both kinds:\n\n", *_table(iter([ISOLATION_ROW]))]
    return "".join(parts)


def connector_keys() -> dict[str, ConfigDef]:
    """Our definitions by kind of connector."""
    return {"source": ConfigDef(*common_keys(), *SOURCE_KEYS), "sink": ConfigDef(*common_keys(), *SINK_KEYS)}


def _worker_rows(worker: list[str]) -> Iterator[tuple[str, str, str]]:
    for name in worker:
        yield (name, *of_worker(name))


def _own_rows(keys: Iterator[ConfigKey]) -> Iterator[tuple[str, str, str]]:
    for key in keys:
        yield key.name, HONOURED, key.doc


def _connector_rows(connect: dict[str, list[str]]) -> Iterator[tuple[str, str, str]]:
    ours = connector_keys()
    for name in sorted({*connect["source"], *connect["sink"]}):
        kinds = [kind for kind in ("source", "sink") if name in connect[kind]]
        doc = ours[kinds[0]].keys[name].doc
        status, note = of_connector(name, doc)
        yield name, status, note if len(kinds) == 2 else f"({kinds[0]}s) {note}"


def _table(rows: Iterator[tuple[str, str, str]]) -> Iterator[str]:
    yield "| property | here | |\n| --- | --- | --- |\n"
    for name, status, note in rows:
        yield f"| `{name}` | {status} | {note.replace('|', chr(92) + '|')} |\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.stderr.write(f"{PAGE.name} written\n")

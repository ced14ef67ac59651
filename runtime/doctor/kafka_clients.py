"""Checks of a worker's Kafka clients: stores, logins and libraries, without a connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from runtime.api.errors import ConfigError
from runtime.config import properties
from runtime.config.providers import providers
from runtime.doctor.check_result import CheckResult, bad, note, ok

_REMEDY = "the worker would not start"


def check_kafka_clients(worker: Path | None) -> Iterator[CheckResult]:
    """For the properties file of a worker. A file that cannot be read is reported by check_java_plugins()."""
    if worker is None:
        return
    try:
        props = properties.load(worker)
    except properties.PropertiesError:
        return
    try:
        resolved = providers(props).resolve(props).config
    except ConfigError as error:  # also of Java's providers, which run in the worker
        yield note("clients", str(error), "its Kafka clients are not checked")
        return
    yield from _clients(resolved)


def _clients(props: Mapping[str, str]) -> Iterator[CheckResult]:
    from runtime.kafka.clients.settings import client_config
    from runtime.kafka.errors import ClientConfigError

    problems = 0
    for kind, connector in (("admin", None), ("producer", {}), ("consumer", {}), ("admin", {})):
        try:
            client_config(props, kind, connector)
        except ClientConfigError as error:
            problems += 1
            yield bad("clients", f"{kind}.: {error}" if connector is not None else str(error), _REMEDY)
    if not problems:
        yield ok("clients", f"security.protocol={props.get('security.protocol', 'PLAINTEXT')}")

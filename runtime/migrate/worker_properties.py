"""The properties of the workers: those that a Headrace worker refuses, and those without an effect there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime.api.errors import ConfigError
from runtime.config.providers import providers
from runtime.config.worker_config import WorkerConfig, distributed
from runtime.doctor.check_result import CheckResult, bad, note, ok
from runtime.kafka.errors import ClientConfigError
from runtime.worker.worker_storage import client_warnings

SUBJECT = "properties"
_REFUSED = "the worker would not start"
_IGNORED = "check that nothing depends on it, then remove it"


def check(props: Mapping[str, str]) -> Iterator[CheckResult]:
    """One result for each property that is refused or has no effect; one for all others."""
    try:
        providers(props).resolve(props)
    except ConfigError as error:  # also of Java's providers, which run in the worker
        yield note(SUBJECT, str(error), "the properties are not checked: run this where the provider can be used")
        return
    try:
        config = distributed(props)
        warnings = (*config.warnings, *client_warnings(config))
    except (ConfigError, ClientConfigError) as error:
        yield bad(SUBJECT, str(error), _REFUSED)
        return
    for warning in warnings:
        yield note(SUBJECT, warning, _IGNORED)
    yield ok(SUBJECT, f"{len(props) - len(warnings)} of {len(props)} have the effect that they have on Apache's worker")


def parsed(props: Mapping[str, str]) -> WorkerConfig | None:
    """The configuration of a worker with these properties; None if it would not start."""
    try:
        return distributed(props)
    except ConfigError:
        return None

"""Kerberos: whether this installation supports it, which the wheels of pip do not, and the login of this process.

Both Kafka clients use the default credentials of the process: those in the ticket cache that KRB5CCNAME names. Each of
Java's clients may have a login of its own; here a process has one. With a key table its cache is in memory, and libkrb5
takes another ticket (KRB5_CLIENT_KTNAME) when half of the lifetime is over; librdkafka's calls of kinit are disabled.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from runtime.kafka.errors import ClientConfigError, EndpointUnavailable

KERBEROS = "headrace.kerberos"
"""The key of KerberosLogin.text() among librdkafka's settings, which native_settings() removes."""

_CACHE, _KEYTAB = "KRB5CCNAME", "KRB5_CLIENT_KTNAME"
_IN_MEMORY = "MEMORY:headrace"
_KDC_UNREACHABLE = 2**32 - 1765328228  # KRB5_KDC_UNREACH

_lock = threading.Lock()
_environment = {key: os.environ.get(key) for key in (_CACHE, _KEYTAB)}


@dataclass(frozen=True, slots=True)
class KerberosLogin:
    """`principal` and its key table; without a key table, the tickets of a `cache`, which others renew. Its empty name
    is that of the default cache."""

    principal: str = ""
    keytab: str = ""
    cache: str = ""

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> KerberosLogin:
        return cls(**json.loads(text))

    def __str__(self) -> str:
        if self.keytab:
            return f"principal {self.principal} with keyTab={self.keytab}"
        return f"the ticket cache {self.cache}" if self.cache else "the default ticket cache"


class ProcessLogin:
    """The login that all Kafka clients of a process share."""

    def __init__(self) -> None:
        self._login: KerberosLogin | None = None

    def log_in(self, login: KerberosLogin) -> None:
        """Makes sure that there is a valid ticket. Raises ClientConfigError if it is refused or if this process has
        another login, and EndpointUnavailable without a response of the KDC. Blocks."""
        with _lock:
            if self._login not in (None, login):
                raise ClientConfigError(
                    f"this process has logged in to Kerberos as {self._login}, and cannot use {login}: a process has "
                    "one login, so let the connector run in slots of its own (headrace.isolation=dedicated)"
                )
            if self._login is None:
                _set_environment(login)
            _take_ticket(login)
            self._login = login


_process = ProcessLogin()


def log_in(settings: Mapping[str, object]) -> None:
    """As ProcessLogin.log_in(), for the login in librdkafka's settings; nothing for those without Kerberos."""
    if KERBEROS in settings:
        _process.log_in(KerberosLogin.of(str(settings[KERBEROS])))


def _set_environment(login: KerberosLogin) -> None:
    """libkrb5 reads these variables for each connection. Processes inherit those of their parent's login."""
    if login.keytab:
        _set(_CACHE, _IN_MEMORY)
        _set(_KEYTAB, login.keytab)
    else:
        default = _environment[_CACHE] if _environment[_CACHE] != _IN_MEMORY else None
        _set(_CACHE, login.cache or default)
        _set(_KEYTAB, None)


def _set(key: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(key, None)
    else:
        os.environ[key] = value


def _take_ticket(login: KerberosLogin) -> None:
    gssapi: Any = import_module("gssapi")  # of an extra
    try:
        if login.keytab:
            name = gssapi.Name(login.principal, gssapi.NameType.kerberos_principal)
            store = {"client_keytab": login.keytab, "ccache": _IN_MEMORY}
            gssapi.Credentials(usage="initiate", name=name, store=store)
        else:
            gssapi.Credentials(usage="initiate").inquire(lifetime=True)
    except gssapi.exceptions.GSSError as error:
        reason = error.gen_message().split(": ")[-1].strip()
        message = f"sasl.mechanism=GSSAPI: no ticket for {login}: {reason}"
        if error.min_code == _KDC_UNREACHABLE:
            raise EndpointUnavailable(message) from None
        remedy = "" if login.keytab else "; fill it with kinit, and keep it valid with a program such as k5start"
        raise ClientConfigError(message + remedy) from None


def check_kerberos() -> None:
    """ClientConfigError, which says what to install, unless both Kafka clients support sasl.mechanism=GSSAPI."""
    if missing := _missing():
        raise ClientConfigError(f"sasl.mechanism=GSSAPI needs {' and '.join(missing)}: see docs/ops/kerberos.md")


@cache
def _missing() -> tuple[str, ...]:
    missing = []
    if not _librdkafka_has_it():
        missing.append(
            "a librdkafka with libsasl2 (build it with --enable-gssapi, in a version that confluent-kafka accepts, and "
            "install libsasl2-modules-gssapi-mit, then "
            "pip install --force-reinstall --no-binary confluent-kafka confluent-kafka)"
        )
    if find_spec("gssapi") is None:
        missing.append("the Python package gssapi (install libkrb5-dev, then pip install 'headrace[kerberos]')")
    return tuple(missing)


def _librdkafka_has_it() -> bool:
    from confluent_kafka import KafkaException, Producer

    settings = {"bootstrap.servers": "localhost:1", "security.protocol": "SASL_PLAINTEXT", "log_level": 0}
    kerberos = {"sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka"}
    try:
        Producer({**settings, **kerberos, "sasl.kerberos.min.time.before.relogin": 0})
    except KafkaException as error:
        return "No provider for SASL mechanism" not in str(error)
    return True

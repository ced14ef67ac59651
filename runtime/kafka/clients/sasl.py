"""Translates Java's SASL properties: the login module of `sasl.jaas.config`, or of the entry KafkaClient of the
worker's JAAS file, with its options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from runtime.api.config.types import java_trim
from runtime.api.errors import ConfigError
from runtime.config.jaas.entries import JaasError, LoginModule, login_module
from runtime.config.jaas.login_file import KEY, OPTION, entry
from runtime.kafka.clients.kerberos import KERBEROS, KerberosLogin, check_kerberos
from runtime.kafka.clients.oauth import msk
from runtime.kafka.clients.oauth.oauth_settings import OAUTH, oauth_settings
from runtime.kafka.errors import ClientConfigError

_JAAS = "sasl.jaas.config"
_KAFKA = "org.apache.kafka.common.security."
_MODULES = {
    "PLAIN": ("PlainLoginModule", "ScramLoginModule"),
    "SCRAM-SHA-256": ("ScramLoginModule", "PlainLoginModule"),
    "SCRAM-SHA-512": ("ScramLoginModule", "PlainLoginModule"),
    "GSSAPI": ("Krb5LoginModule",),
    "OAUTHBEARER": ("OAuthBearerLoginModule",),
    msk.MECHANISM: ("IAMLoginModule",),
}
"""Simple names of the login modules for each mechanism. Java's modules of PLAIN and SCRAM do the same at the client."""

_DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "sasl.login.class": (f"{_KAFKA}authenticator.DefaultLogin", f"{_KAFKA}kerberos.KerberosLogin"),
    "sasl.client.callback.handler.class": (f"{_KAFKA}authenticator.SaslClientCallbackHandler", msk.CLIENT_HANDLER),
    "sasl.login.callback.handler.class": (
        f"{_KAFKA}authenticator.AbstractLogin$DefaultLoginCallbackHandler",
        f"{_KAFKA}oauthbearer.OAuthBearerLoginCallbackHandler",
        f"{_KAFKA}oauthbearer.secured.OAuthBearerLoginCallbackHandler",
        msk.LOGIN_HANDLER,
    ),
}
"""Classes that Java's clients also use without the property, and those of Amazon MSK. Others authenticate in ways that
only they know."""

_LOGIN_HANDLER = "sasl.login.callback.handler.class"

CLASSES = frozenset(_DEFAULTS)
LOGIN = frozenset({_JAAS, "sasl.kerberos.service.name", "sasl.mechanism"})
"""Properties that have an effect if `security.protocol` uses SASL."""


def sasl_settings(java: Mapping[str, str]) -> dict[str, Any]:
    """librdkafka's settings; none if `security.protocol` uses no SASL. Raises ClientConfigError."""
    if not java_trim(java.get("security.protocol", "")).upper().startswith("SASL_"):
        return {}
    mechanism = java_trim(java.get("sasl.mechanism", "GSSAPI"))
    if mechanism not in _MODULES:
        raise ClientConfigError(f"sasl.mechanism={mechanism} is not supported: use one of {', '.join(_MODULES)}")
    for key, classes in _DEFAULTS.items():
        if java.get(key) and java_trim(java[key]) not in classes:
            raise ClientConfigError(f"{key}={java[key]} is not supported, since it is a Java class: remove it")
    origin, module = _login(java)
    if module.name.rpartition(".")[2] not in _MODULES[mechanism]:
        raise ClientConfigError(
            f"{origin} names the login module {module.name}, which is not supported for sasl.mechanism={mechanism}: "
            f"use {_MODULES[mechanism][0]}"
        )
    if mechanism == msk.MECHANISM or java_trim(java.get(_LOGIN_HANDLER, "")) == msk.LOGIN_HANDLER:
        identity = msk.msk_settings(java.get("bootstrap.servers", ""), origin, module.options)
        return {"sasl.mechanism": "OAUTHBEARER", OAUTH: oauth_settings(java, origin, {}, identity).text()}
    return {"sasl.mechanism": mechanism, **_options(java, mechanism, origin, module.options)}


def _login(java: Mapping[str, str]) -> tuple[str, LoginModule]:
    """The login module, and the name of the property or file that has it. The messages never quote values."""
    if text := java.get(_JAAS):
        try:
            return _JAAS, login_module(text)
        except JaasError as e:
            raise ClientConfigError(f"{_JAAS}: {e}") from None
    try:
        file, modules = entry("KafkaClient", java)
    except ConfigError as e:
        raise ClientConfigError(str(e)) from None
    if modules is None:
        place = f"the file {file} has no entry KafkaClient" if file else f"neither {KEY} nor -D{OPTION} names a file"
        raise ClientConfigError(
            f"security.protocol={java['security.protocol']} needs {_JAAS}: it is not set, and {place}"
        )
    if len(modules) > 1:
        raise ClientConfigError(f"{file}: the entry KafkaClient has {len(modules)} login modules, should be 1 module")
    return f"the entry KafkaClient of {file}", modules[0]


def _options(java: Mapping[str, str], mechanism: str, origin: str, options: Mapping[str, str]) -> dict[str, Any]:
    if mechanism == "GSSAPI":
        return _kerberos(java, origin, options)
    if mechanism == "OAUTHBEARER":
        return {OAUTH: oauth_settings(java, origin, options).text()}
    if options.get("tokenauth", "").lower() == "true":
        raise ClientConfigError(f"{origin} has tokenauth=true: delegation tokens are not supported")
    if missing := [name for name in ("username", "password") if not options.get(name)]:
        raise ClientConfigError(f"{origin} lacks the option {' and '.join(missing)}")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _kerberos(java: Mapping[str, str], origin: str, options: Mapping[str, str]) -> dict[str, Any]:
    """As in Java, a key table is used only with useKeyTab=true."""
    service = java.get("sasl.kerberos.service.name") or options.get("serviceName")
    if not service:
        raise ClientConfigError(f"sasl.mechanism=GSSAPI needs sasl.kerberos.service.name, or serviceName in {origin}")
    check_kerberos()
    settings: dict[str, Any] = {
        "sasl.kerberos.service.name": java_trim(service),
        "sasl.kerberos.min.time.before.relogin": 0,  # no calls of kinit
    }
    if options.get("useKeyTab", "").lower() != "true":
        return {**settings, KERBEROS: KerberosLogin(cache=options.get("ticketCache", "")).text()}
    if missing := [name for name in ("principal", "keyTab") if not options.get(name)]:
        raise ClientConfigError(f"{origin} lacks the option {' and '.join(missing)}")
    keytab = options["keyTab"].removeprefix("file:").removeprefix("FILE:")
    if not os.access(keytab, os.R_OK):
        raise ClientConfigError(f"{origin}: keyTab={keytab} cannot be read")
    login = KerberosLogin(options["principal"], keytab)
    return {**settings, KERBEROS: login.text(), "sasl.kerberos.principal": login.principal}

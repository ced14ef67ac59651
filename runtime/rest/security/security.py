"""Builds the protection of the REST API from the worker's properties, which it checks before any listener starts."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from runtime.api.errors import ConfigError
from runtime.config import listeners, properties
from runtime.config.listeners import Listener
from runtime.config.properties import comma_separated
from runtime.rest.http.framing import UnambiguousFraming
from runtime.rest.security import browsers
from runtime.rest.security.access import Access, BasicAuth, Role
from runtime.rest.security.audit import Audit
from runtime.rest.security.browsers import AllowedHosts, BrowserGuard
from runtime.rest.security.callers import ForwardedCallers, SignedCallers
from runtime.rest.security.headers import KEY, ExtraHeaders, HeaderRule, parse_rules
from runtime.rest.security.jaas import credentials
from runtime.rest.security.tls import server_context

BASIC_AUTH = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
ROLES_PREFIX = "headrace.roles."


@dataclass(frozen=True, slots=True)
class Protection:
    """The security layers between a listener and the API."""

    access: Access | None
    origins: str
    methods: Sequence[str]
    headers: tuple[HeaderRule, ...]
    hosts: AllowedHosts

    def wrap(self, app: ASGIApp, certified: bool = False, callers: SignedCallers | None = None) -> ASGIApp:
        """The application inside all security layers, the innermost first.

        `certified`: every client has a TLS certificate, so that Host needs no check. `callers` verifies the callers of
        requests that other workers forward.
        """
        if self.access is not None:
            app = BasicAuth(app, self.access)
        if callers is not None:
            app = ForwardedCallers(app, callers)
        app = BrowserGuard(app, self.hosts, self.origins, check_host=self.access is None and not certified)
        if self.origins:
            app = CORSMiddleware(
                app,
                allow_origin_regex=self.origins,
                allow_methods=self.methods,
                allow_headers=("X-Requested-With", "Content-Type", "Accept", "Origin"),
            )
        if self.headers:
            app = ExtraHeaders(app, self.headers)
        return Audit(UnambiguousFraming(app))


def protection(props: Mapping[str, str], names: Iterable[str] = ()) -> Protection:
    """The protection that these properties define; `names` are the worker's host names.

    Raises ConfigError, which names the invalid property.
    """
    return Protection(
        _access(props),
        _origins(props.get("access.control.allow.origin", "")),
        comma_separated(props.get("access.control.allow.methods", "")) or ("GET", "POST", "HEAD"),
        parse_rules(props.get(KEY, "")),
        AllowedHosts.of(names, comma_separated(props.get(browsers.KEY, ""))),
    )


def tls(props: Mapping[str, str], served: Sequence[Listener], prefix: str) -> ssl.SSLContext | None:
    """The TLS context of these listeners; None if none of them is https. Raises ListenerError."""
    if not any(listener.scheme == "https" for listener in served):
        return None
    return server_context(listeners.https_settings(props, prefix))


def certified(props: Mapping[str, str], served: Sequence[Listener], prefix: str) -> bool:
    """Whether every client needs a certificate."""
    required = listeners.https_settings(props, prefix).get("ssl.client.auth", "").lower() == "required"
    return required and all(listener.scheme == "https" for listener in served)


def _access(props: Mapping[str, str]) -> Access | None:
    extensions = comma_separated(props.get("rest.extension.classes", ""))
    names = {role: comma_separated(props.get(f"{ROLES_PREFIX}{role.name.lower()}", "")) for role in Role if role}
    roles = {role: frozenset(users) for role, users in names.items()}
    _check_roles(props)
    if other := [e for e in extensions if e != BASIC_AUTH]:
        raise ConfigError(
            f"rest.extension.classes={', '.join(other)}: Java extensions cannot run here; {BASIC_AUTH} is built in"
        )
    if not extensions:
        if any(roles.values()):
            raise ConfigError(f"{ROLES_PREFIX}* need users: set rest.extension.classes={BASIC_AUTH}")
        return None
    return Access(_users(credentials(props)), roles)


def _check_roles(props: Mapping[str, str]) -> None:
    known = {f"{ROLES_PREFIX}{role.name.lower()}" for role in Role if role}
    for key in props:
        if key.startswith(ROLES_PREFIX) and key not in known:
            raise ConfigError(f"{key}: unknown role; expected one of {', '.join(sorted(known))}")


def _users(file: Path) -> dict[str, str]:
    try:
        users = properties.load(file)
    except properties.PropertiesError as e:
        raise ConfigError(str(e)) from None
    if not users:
        raise ConfigError(f"{file}: the file has no users; expected lines of USER=PASSWORD")
    return users


def _origins(text: str) -> str:
    """A regular expression of the allowed origins; `*` is a wildcard."""
    return "|".join(re.escape(origin).replace(r"\*", ".*") for origin in comma_separated(text))

"""`response.http.headers.config`: extra headers of every response, in the syntax of Jetty's HeaderFilter."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from email.utils import formatdate

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runtime.api.errors import ConfigError

KEY = "response.http.headers.config"
_PARTS = re.compile(r'\s*(?:"([^"]*)"|([^",]+))\s*(?:,|$)')
_RULE = re.compile(r"(set|add|setDate|addDate)\s+([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """One header, set or added. The value of a date is an offset from the time of the response in milliseconds."""

    add: bool
    date: bool
    name: str
    value: str

    def apply(self, headers: MutableHeaders) -> None:
        value = formatdate(time.time() + int(self.value) / 1000, usegmt=True) if self.date else self.value
        if self.add:
            headers.append(self.name, value)
        else:
            headers[self.name] = value


def parse_rules(text: str) -> tuple[HeaderRule, ...]:
    """Parses `[action] [name]: [value]`, separated by commas, quoted if a value has commas. Raises ConfigError."""
    rules, at = [], 0
    while at < len(text.rstrip()):
        part = _PARTS.match(text, at)
        if part is None or part.end() == at:
            raise ConfigError(f"{KEY}: cannot be parsed from {text[at:]!r} on")
        rules.append(_rule((part[1] if part[1] is not None else part[2]).strip()))
        at = part.end()
    return tuple(rules)


def _rule(text: str) -> HeaderRule:
    match = _RULE.fullmatch(text)
    if match is None or "\n" in text or "\r" in text:
        raise ConfigError(f"{KEY}: {text!r} is not of the form 'set|add|setDate|addDate NAME: VALUE'")
    action, name, value = match[1], match[2], match[3].strip()
    if action.endswith("Date") and not re.fullmatch(r"-?\d+", value):
        raise ConfigError(f"{KEY}: {value!r} of {name} is not a number of milliseconds")
    return HeaderRule(action.startswith("add"), action.endswith("Date"), name, value)


class ExtraHeaders:
    """Adds the headers of these rules to every response."""

    def __init__(self, app: ASGIApp, rules: tuple[HeaderRule, ...]) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def respond(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for rule in self._rules:
                    rule.apply(headers)
            await send(message)

        await self._app(scope, receive, respond if scope["type"] == "http" else send)

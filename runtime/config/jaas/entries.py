"""Login modules with their options, in the two grammars of JAAS: that of Kafka's `sasl.jaas.config`, and that of the
JDK's files, whose entries have names. Both are case-insensitive in flags only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from runtime.config.jaas.tokens import JaasToken, tokens

_FLAGS = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")
_VARIABLE = re.compile(r"\$\{(\{.*?\}|[^}]*)\}")


class JaasError(ValueError):
    """A JAAS configuration is malformed; the message is Java's where Kafka has one."""


@dataclass(frozen=True, slots=True)
class LoginModule:
    """A login module: its class and its options."""

    name: str
    options: Mapping[str, str]


def login_module(text: str) -> LoginModule:
    """The only login module of a `sasl.jaas.config`. Raises JaasError."""
    modules = list(_modules(tokens(text)))
    if len(modules) != 1:
        content = f"contains {len(modules)}" if modules else "does not contain any"
        raise JaasError(f"JAAS config property {content} login modules, should be 1 module")
    return modules[0]


def _modules(given: Iterator[JaasToken]) -> Iterator[LoginModule]:
    end = JaasToken("")
    for token in given:
        if not token.text:
            raise JaasError("Login module not specified in JAAS config")
        flag = next(given, end).text
        if flag is None or flag.upper() not in _FLAGS:
            raise JaasError(f"Invalid login module control flag '{flag or ''}' in JAAS config")
        options: dict[str, str] = {}
        while (key := next(given, end)).kind not in (";", ""):
            value = next(given, end).text if next(given, end).kind == "=" else None
            if value is None:
                raise JaasError(f"Value not specified for key '{key.text or ''}' in JAAS config")
            if key.text is not None:
                options[key.text] = value
        if key.kind != ";":
            raise JaasError("JAAS config entry not terminated by semi-colon")
        yield LoginModule(token.text, options)


def named_modules(text: str, properties: Mapping[str, str]) -> dict[str, list[LoginModule]]:
    """The entries of a file that have modules. `properties`: system properties that values name (`${…}`). Raises
    JaasError."""
    reader = _FileReader(tokens(text, "_$-*"), lambda value: _expand(value, properties))
    return reader.read()


class _FileReader:
    """Reads one token ahead, as the JDK's grammar needs it."""

    def __init__(self, given: Iterator[JaasToken], expand: Callable[[str], str]) -> None:
        self._given, self._expand = given, expand
        self._next = next(given, JaasToken(""))

    def read(self) -> dict[str, list[LoginModule]]:
        entries: dict[str, list[LoginModule]] = {}
        while self._next.kind:
            name = self._next.text or ""
            self._advance()
            self._match("{")
            modules = []
            while self._next.kind != "}":
                modules.append(self._module())
            self._match("}")
            self._match(";")
            if name in entries:
                raise JaasError(f"the entry {name} occurs twice")
            entries[name] = modules
        return {name: modules for name, modules in entries.items() if modules}

    def _module(self) -> LoginModule:
        name, flag = self._value("a login module"), self._value("a control flag")
        if flag.upper() not in _FLAGS:
            raise JaasError(f"invalid control flag {flag}")
        options = {}
        while self._next.kind != ";":
            key = self._value("the name of an option")
            self._match("=")
            options[key] = self._expand(self._value(f"the value of {key}"))
        self._advance()
        if not name:
            raise JaasError("a login module without a name")
        return LoginModule(name, options)

    def _value(self, expected: str) -> str:
        if self._next.kind not in ('"', "word"):  # the JDK accepts no single quotes in files
            raise JaasError(f"expected {expected}, found {self._next.kind or 'the end'}")
        value = self._next.text or ""
        self._advance()
        return value

    def _match(self, kind: str) -> None:
        if self._next.kind != kind:
            raise JaasError(f"expected {kind}, found {self._next.text or self._next.kind or 'the end'}")
        self._advance()

    def _advance(self) -> None:
        self._next = next(self._given, JaasToken(""))


def _expand(value: str, properties: Mapping[str, str]) -> str:
    """Replaces system properties, `${/}` by the separator of paths; `${{…}}` stays as it is."""

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("{"):
            return match[0]
        if name != "/" and name not in properties:
            raise JaasError(f"the system property {name} in {value} is unknown: write the value itself")
        return "/" if name == "/" else properties[name]

    return _VARIABLE.sub(replace, value)

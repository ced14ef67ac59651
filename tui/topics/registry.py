"""Schemas from Confluent's schema registry, by id, each read once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from tui.errors import HeadraceError, NotFound, Unreachable, refusal
from tui.scrubbing import without_user

TIMEOUT = 5.0  # seconds for a response
NOT_FOUND = 404


class RegistryAddress(NamedTuple):
    """The registry's URLs, tried in order, and its credentials."""

    urls: tuple[str, ...]
    username: str = ""
    password: str = ""
    token: str = ""
    ca: str = ""  # a file of trusted certificates

    def __repr__(self) -> str:
        return f"RegistryAddress({[without_user(url) for url in self.urls]})"


class RegisteredSchema(NamedTuple):
    """A schema, with the schemas that it references, dependencies first. `kind` is AVRO, JSON or PROTOBUF."""

    number: int
    kind: str
    text: str
    referenced: tuple[str, ...] = ()


class SchemaRegistry:
    """A client of a registry; requests block. Raises NotFound for an unknown id and Unreachable without a response; an
    id that failed is not requested again."""

    def __init__(self, address: RegistryAddress) -> None:
        self._address = address
        self._schemas: dict[int, RegisteredSchema | HeadraceError] = {}
        self._client: Any = None

    def schema(self, number: int) -> RegisteredSchema:
        if number not in self._schemas:
            try:
                self._schemas[number] = self._read(number)
            except HeadraceError as error:
                self._schemas[number] = error
        schema = self._schemas[number]
        if isinstance(schema, HeadraceError):
            raise schema
        return schema

    def _read(self, number: int) -> RegisteredSchema:
        response = self._ask(f"/schemas/ids/{number}")
        others = tuple(self._referenced(response.get("references") or (), set()))
        return RegisteredSchema(number, str(response.get("schemaType") or "AVRO"), str(response["schema"]), others)

    def _referenced(self, references: Sequence[Mapping[str, Any]], seen: set[str]) -> Iterator[str]:
        for reference in references:
            if reference["name"] not in seen:
                seen.add(reference["name"])
                subject = quote(str(reference["subject"]), safe="")
                response = self._ask(f"/subjects/{subject}/versions/{reference['version']}")
                yield from self._referenced(response.get("references") or (), seen)
                yield str(response["schema"])

    def _ask(self, path: str) -> Any:
        import httpx

        if self._client is None:
            self._client = self._opened()
        failure = ""
        for url in self._address.urls:
            try:
                response = self._client.get(url.rstrip("/") + path)
                if response.status_code < 300:
                    return response.json()
            except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
                failure = f"{without_user(url)}: {error or type(error).__name__}"
                continue
            failure = f"{without_user(url)}{path}: HTTP {response.status_code}"
            if response.status_code == NOT_FOUND:
                raise NotFound(f"not found in the schema registry: {failure}", NOT_FOUND)
            if response.status_code < 500:
                raise refusal(response.status_code, f"the schema registry refused the request: {failure}")
        raise Unreachable(f"the schema registry does not respond: {failure}")

    def _opened(self) -> Any:
        import httpx

        from tui.wire.proxy import proxy_url
        from tui.wire.tls_client import verifying_context

        registry = self._address
        headers = {"Accept": "application/vnd.schemaregistry.v1+json"}
        headers |= {"Authorization": f"Bearer {registry.token}"} if registry.token else {}
        return httpx.Client(
            auth=(registry.username, registry.password) if registry.username else None,
            headers=headers,
            timeout=TIMEOUT,
            verify=verifying_context(registry.ca) if registry.ca else True,
            proxy=proxy_url(registry.urls[0]) if registry.urls else None,
            trust_env=False,
        )


def of_context(settings: Mapping[str, str]) -> RegistryAddress | None:
    """The registry that a context names, with resolved secrets; None if it names none."""
    urls = _urls(settings.get("url", ""))
    if not urls:
        return None
    given = (settings.get(key, "") for key in ("username", "password", "token", "ca"))
    return RegistryAddress(urls, *given)


def of_converter(config: Mapping[str, str]) -> RegistryAddress | None:
    """The registry of a converter's config, whose keys have no prefix; None if it names none. References of the worker
    such as `${file:…}` and masks cannot be resolved here: the request is then sent without credentials."""
    urls = _urls(config.get("schema.registry.url", ""))
    if not urls:
        return None
    info = config.get("schema.registry.basic.auth.user.info") or config.get("basic.auth.user.info", "")
    username, _, password = _literal(info).partition(":")
    return RegistryAddress(urls, username, password, _literal(config.get("bearer.auth.token", "")))


def _urls(text: str) -> tuple[str, ...]:
    return tuple(url.strip() for url in text.split(",") if urlsplit(url.strip()).scheme in ("http", "https"))


def _literal(value: str) -> str:
    return "" if value.startswith(("${", "*", "[")) else value


def avro_schema(schema: RegisteredSchema) -> Any:
    """The schema parsed by fastavro. Raises HeadraceError if fastavro is not installed."""
    try:
        from fastavro.schema import parse_schema
    except ImportError:
        advice = "install it with Headrace's extra: pip install 'headrace[runtime]'"
        raise HeadraceError("fastavro, needed to decode Avro, is not installed", advice) from None
    named: dict[str, Any] = {}
    for text in schema.referenced:
        parse_schema(_readable(json.loads(text)), named_schemas=named)
    return parse_schema(_readable(json.loads(schema.text)), named_schemas=named)


_DIGITS = 100_000


def _readable(document: Any) -> Any:
    """An Avro schema without what fastavro refuses, but Java's readers accept: defaults of another type, such as 0 for
    a double, and precisions that are too small, to which it would round decimals."""
    if isinstance(document, list):
        return [_readable(part) for part in document]
    if not isinstance(document, dict):
        return document
    made = {key: _readable(part) for key, part in document.items() if key != "default"}
    if made.get("logicalType") == "decimal" and made.get("type") == "bytes":
        made["precision"] = _DIGITS
    return made

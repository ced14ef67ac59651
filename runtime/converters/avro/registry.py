"""A client of Confluent's schema registry: ids of schemas and schemas of ids, each asked for once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from runtime.api.errors import ConfigError, DataError, RetriableError

_TIMEOUT = 10.0  # seconds for an answer
_JSON = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND = 404


class SchemaRegistryClient:
    """Asks the first registry that answers. DataError for a refusal, RetriableError when nobody answers."""

    def __init__(
        self,
        urls: Sequence[str],
        credentials: tuple[str, str] | None = None,
        token: str = "",
        trusted: str = "",
        transport: Any = None,
    ) -> None:
        """`credentials` are a user and a password, `trusted` is a PEM file; `transport` is for tests."""
        import httpx

        headers = {"Accept": _JSON} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._urls = [url.strip().rstrip("/") for url in urls]
        self._client = httpx.Client(
            auth=credentials, headers=headers, timeout=_TIMEOUT, verify=_context(trusted), transport=transport
        )
        self._ids: dict[tuple[str, str], int] = {}
        self._schemas: dict[int, tuple[Any, list[Any]]] = {}

    def register(self, subject: str, schema: str) -> int:
        """The id of a schema, which is registered under the subject where it is not yet."""
        return self._id(subject, schema, f"/subjects/{quote(subject, safe='')}/versions")

    def lookup(self, subject: str, schema: str, missing: int | None = None) -> int:
        """The id of a schema that is registered under the subject; `missing` (or DataError) when it is not."""
        try:
            return self._id(subject, schema, f"/subjects/{quote(subject, safe='')}")
        except _MissingError:
            if missing is None:
                raise
            return missing

    def latest(self, subject: str) -> tuple[int, Any]:
        """Id and document of the subject's newest schema."""
        found = self._ask("GET", f"/subjects/{quote(subject, safe='')}/versions/latest")
        return int(found["id"]), json.loads(found["schema"])

    def schema(self, number: int) -> tuple[Any, list[Any]]:
        """A schema's document, and those of the schemas that it refers to, in the order of their use."""
        known = self._schemas.get(number)
        if known is None:
            found = self._ask("GET", f"/schemas/ids/{number}")
            if found.get("schemaType", "AVRO") != "AVRO":
                raise DataError(f"Schema {number} is {found['schemaType']}, not Avro")
            known = self._schemas[number] = json.loads(found["schema"]), list(self._referred(found, set()))
        return known

    def _referred(self, found: Mapping[str, Any], seen: set[str]) -> Iterator[Any]:
        for reference in found.get("references") or ():
            if reference["name"] in seen:
                continue
            seen.add(reference["name"])
            subject = quote(reference["subject"], safe="")
            other = self._ask("GET", f"/subjects/{subject}/versions/{reference['version']}")
            yield from self._referred(other, seen)
            yield json.loads(other["schema"])

    def _id(self, subject: str, schema: str, path: str) -> int:
        key = subject, schema
        if key not in self._ids:
            self._ids[key] = int(self._ask("POST", path, {"schema": schema})["id"])
        return self._ids[key]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        import httpx

        trouble = ""
        for url in self._urls:
            try:
                answer = self._client.request(method, url + path, json=body, headers={"Content-Type": _JSON})
            except httpx.HTTPError as error:
                trouble = f"{_without_user(url)}: {error or type(error).__name__}"
                continue
            if answer.status_code < 300:
                return answer.json()
            trouble = f"{_without_user(url)}{path}: {answer.status_code} {_message(answer)}"
            if answer.status_code < 500:
                refused = _MissingError if answer.status_code == _NOT_FOUND else DataError
                raise refused(f"The schema registry refused: {trouble}")
        raise RetriableError(f"No schema registry answers: {trouble}")


class _MissingError(DataError):
    """The registry does not know it."""


def registry_client(given: Mapping[str, str], parsed: Mapping[str, Any]) -> SchemaRegistryClient:
    """As a converter's configuration says."""
    source = parsed["basic.auth.credentials.source"].upper()
    if source not in ("URL", "USER_INFO"):
        raise ConfigError(f"basic.auth.credentials.source={source}: this converter knows URL and USER_INFO")
    info = given.get("schema.registry.basic.auth.user.info") or given.get("basic.auth.user.info", "")
    user, _, password = info.partition(":")
    credentials = (user, password) if source == "USER_INFO" else None
    trusted = parsed["schema.registry.ssl.truststore.location"]
    return SchemaRegistryClient(parsed["schema.registry.url"], credentials, given.get("bearer.auth.token", ""), trusted)


def _context(trusted: str) -> Any:
    import ssl

    return ssl.create_default_context(cafile=trusted) if trusted else True


def _message(answer: Any) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return str(answer.text)[:200]


def _without_user(url: str) -> str:
    """A password in the URL is nobody's business."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"

"""A client of Confluent's schema registry, which caches ids and schemas.

confluent-kafka's own client would add mutual TLS and OAuth, but needs four more packages (authlib, httpx2, …), takes
almost twice as long to import, and raises httpx2's exceptions where the worker needs a RetriableError.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from runtime.api.config.definition import ConfigType
from runtime.api.errors import ConfigError, DataError, RetriableError
from runtime.config.stores.key_stores import load_keys, own_keys, trusted

TLS = "schema.registry.ssl."
STORES = (
    ("truststore.location", ConfigType.STRING, "", "Store of trusted certificates: JKS, JCEKS, PKCS12 or PEM."),
    ("truststore.password", ConfigType.PASSWORD, "", "Its password."),
    ("truststore.type", ConfigType.STRING, "JKS", "Its type; the content decides."),
    ("keystore.location", ConfigType.STRING, "", "Store of the key and certificate to present."),
    ("keystore.password", ConfigType.PASSWORD, "", "Its password."),
    ("keystore.type", ConfigType.STRING, "JKS", "Its type; the content decides."),
    ("key.password", ConfigType.PASSWORD, "", "Password of the key, if it differs from that of the store."),
)
"""Keys after TLS, with type, default and description."""

_TIMEOUT = 10.0  # seconds for a response
_JSON = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND = 404


class SchemaRegistryClient:
    """Tries its URLs in order. Raises DataError if a registry refuses a request, RetriableError if none is
    available."""

    def __init__(
        self,
        urls: Sequence[str],
        credentials: tuple[str, str] | None = None,
        token: str = "",
        tls: Any = True,
        transport: Any = None,
    ) -> None:
        """`credentials` are user and password, `tls` is a context; True: the default one."""
        import httpx

        headers = {"Accept": _JSON} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._urls = [url.strip().rstrip("/") for url in urls]
        self._client = httpx.Client(
            auth=credentials, headers=headers, timeout=_TIMEOUT, verify=tls, transport=transport
        )
        self._ids: dict[tuple[str, str], int] = {}
        self._schemas: dict[int, tuple[Any, list[Any]]] = {}

    def register(self, subject: str, schema: str) -> int:
        """The id of a schema, after registering it under the subject if necessary."""
        return self._id(subject, schema, f"/subjects/{quote(subject, safe='')}/versions")

    def lookup(self, subject: str, schema: str, missing: int | None = None) -> int:
        """The id of a schema that is registered under the subject. If it is not registered, returns `missing`, or
        raises DataError if `missing` is None."""
        try:
            return self._id(subject, schema, f"/subjects/{quote(subject, safe='')}")
        except _MissingError:
            if missing is None:
                raise
            return missing

    def latest(self, subject: str) -> tuple[int, Any]:
        """Id and JSON of the subject's latest schema."""
        response = self._ask("GET", f"/subjects/{quote(subject, safe='')}/versions/latest")
        return int(response["id"]), json.loads(response["schema"])

    def schema(self, number: int) -> tuple[Any, list[Any]]:
        """The JSON of a schema, and of the schemas that it references, dependencies first."""
        known = self._schemas.get(number)
        if known is None:
            response = self._ask("GET", f"/schemas/ids/{number}")
            if response.get("schemaType", "AVRO") != "AVRO":
                raise DataError(f"Schema {number} is {response['schemaType']}, not Avro")
            known = self._schemas[number] = json.loads(response["schema"]), list(self._referred(response, set()))
        return known

    def _referred(self, response: Mapping[str, Any], seen: set[str]) -> Iterator[Any]:
        for reference in response.get("references") or ():
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

        failure = ""
        for url in self._urls:
            try:
                response = self._client.request(method, url + path, json=body, headers={"Content-Type": _JSON})
            except httpx.HTTPError as error:
                failure = f"{_without_user(url)}: {error or type(error).__name__}"
                continue
            if response.status_code < 300:
                return response.json()
            failure = f"{_without_user(url)}{path}: {response.status_code} {_message(response)}"
            if response.status_code < 500:
                refused = _MissingError if response.status_code == _NOT_FOUND else DataError
                raise refused(f"The schema registry refused the request: {failure}")
        raise RetriableError(f"No schema registry is available: {failure}")


class _MissingError(DataError):
    """The registry does not have the schema or subject."""


def registry_client(given: Mapping[str, str], parsed: Mapping[str, Any]) -> SchemaRegistryClient:
    """The client for a converter's configuration; `parsed` has its typed values."""
    source = parsed["basic.auth.credentials.source"].upper()
    if source not in ("URL", "USER_INFO"):
        raise ConfigError(
            f"Invalid value {source} for configuration basic.auth.credentials.source: use URL or USER_INFO"
        )
    info = given.get("schema.registry.basic.auth.user.info") or given.get("basic.auth.user.info", "")
    user, _, password = info.partition(":")
    credentials = (user, password) if source == "USER_INFO" else None
    token, tls = given.get("bearer.auth.token", ""), _context(given)
    return SchemaRegistryClient(parsed["schema.registry.url"], credentials, token, tls)


def _context(given: Mapping[str, str]) -> Any:
    """With the trust and key store, in any of Java's formats. ConfigError names the property and the file."""
    import ssl

    stores = {f"ssl.{name}": given[f"{TLS}{name}"] for name, *_ in STORES if given.get(f"{TLS}{name}")}
    try:
        certificates, keys = trusted(stores), own_keys(stores)
        if certificates is None and keys is None:
            return True
        context = ssl.create_default_context(cadata=certificates)
        if keys is not None:
            load_keys(context, keys)
    except (OSError, ValueError) as e:  # ssl.SSLError is an OSError
        raise ConfigError(f"schema.registry.{e}") from None
    return context


def _message(response: Any) -> str:
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return str(response.text)[:200]


def _without_user(url: str) -> str:
    """The URL without credentials, for error messages."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"

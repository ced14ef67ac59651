"""A client of Confluent's schema registry, which caches ids and schemas.

confluent-kafka's own client would add mutual TLS and OAuth, but needs four more packages (authlib, httpx2, …), takes
almost twice as long to import, and raises httpx2's exceptions where the worker needs a RetriableError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from runtime.api.errors import DataError
from runtime.converters.registry.http import HttpClient, MissingError
from runtime.converters.registry.schemas import RegisteredSchema, SchemaId

AVRO = "AVRO"
_JSON = "application/vnd.schemaregistry.v1+json"


class SchemaRegistryClient:
    """Schemas of one kind (AVRO, PROTOBUF, JSON). Raises DataError if a registry refuses a request, RetriableError if
    none is available."""

    def __init__(self, http: HttpClient, kind: str, normalize: bool = False) -> None:
        self._http, self._kind = http, kind
        self._query = "?normalize=true" if normalize else ""
        self._ids: dict[tuple[str, str], SchemaId] = {}
        self._schemas: dict[int | str, RegisteredSchema] = {}

    def register(self, subject: str, text: str) -> SchemaId:
        """The id of a schema, after registering it under the subject if necessary."""
        return self._id(subject, text, f"/subjects/{quote(subject, safe='')}/versions")

    def lookup(self, subject: str, text: str, missing: SchemaId | None = None) -> SchemaId:
        """The id of a schema that is registered under the subject. If it is not registered, returns `missing`, or
        raises DataError if `missing` is None."""
        try:
            return self._id(subject, text, f"/subjects/{quote(subject, safe='')}")
        except MissingError:
            if missing is None:
                raise
            return missing

    def latest(self, subject: str) -> RegisteredSchema:
        """The subject's latest schema."""
        return self._registered(self._ask("GET", f"/subjects/{quote(subject, safe='')}/versions/latest"))

    def schema(self, wanted: int | str) -> RegisteredSchema:
        """The schema of an id or a GUID."""
        known = self._schemas.get(wanted)
        if known is None:
            path = f"/schemas/ids/{wanted}" if isinstance(wanted, int) else f"/schemas/guids/{wanted}"
            response = self._ask("GET", path)
            kind = response.get("schemaType") or AVRO
            if kind != self._kind:
                raise DataError(f"Schema {wanted} is {kind}, not {self._kind}")
            response.setdefault("id", wanted if isinstance(wanted, int) else 0)
            known = self._schemas[wanted] = self._registered(response)
        return known

    def version(self, subject: str, schema: RegisteredSchema) -> int | None:
        """The version of a schema under a subject; None if it is not registered there."""
        try:
            response = self._ask("POST", f"/subjects/{quote(subject, safe='')}", self._body(schema.text, schema.own))
        except MissingError:
            return None
        return int(response["version"]) if "version" in response else None

    def _registered(self, response: Mapping[str, Any]) -> RegisteredSchema:
        references = dict(self._referred(response, set()))
        own = tuple(response.get("references") or ())
        return RegisteredSchema(_id_of(response), str(response["schema"]), references, own)

    def _referred(self, response: Mapping[str, Any], seen: set[str]) -> Iterator[tuple[str, str]]:
        for reference in response.get("references") or ():
            name = str(reference["name"])
            if name in seen:
                continue
            seen.add(name)
            subject = quote(reference["subject"], safe="")
            other = self._ask("GET", f"/subjects/{subject}/versions/{reference['version']}")
            yield from self._referred(other, seen)
            yield name, str(other["schema"])

    def _id(self, subject: str, text: str, path: str) -> SchemaId:
        key = subject, text
        if key not in self._ids:
            self._ids[key] = _id_of(self._ask("POST", path + self._query, self._body(text)))
        return self._ids[key]

    def _body(self, text: str, references: tuple[Mapping[str, object], ...] = ()) -> dict[str, Any]:
        kind = {} if self._kind == AVRO else {"schemaType": self._kind}
        return {"schema": text, **kind, **({"references": list(references)} if references else {})}

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        return self._http.ask(method, path, body, {"Accept": _JSON, "Content-Type": _JSON})


def _id_of(response: Mapping[str, Any]) -> SchemaId:
    return SchemaId(int(response["id"]), str(response.get("guid") or ""))

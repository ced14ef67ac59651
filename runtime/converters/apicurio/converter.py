"""The base of Apicurio's converters, and a client of version 3 of the registry's API, which caches ids and schemas."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from runtime.api.errors import DataError
from runtime.converters.apicurio.options import artifacts, http_client
from runtime.converters.registry.converter import RegistryConverter, RegistrySetup
from runtime.converters.registry.formats import Format
from runtime.converters.registry.http import HttpClient
from runtime.converters.registry.schemas import RegisteredSchema, SchemaId
from runtime.converters.registry.wire import WireFormat

_JSON = {"Accept": "application/json", "Content-Type": "application/json"}
_ANY = {"Accept": "*/*"}


class ApicurioClient:
    """Artifacts of one type. A subject is a group and an artifact: `default/orders-value`. DataError if the registry
    refuses a request, RetriableError if it is not available."""

    def __init__(self, http: HttpClient, kind: str, if_exists: str, id_field: str) -> None:
        """`if_exists`: what to do when an artifact exists; `id_field`: contentId or globalId."""
        self._http, self._kind, self._if_exists, self._id_field = http, kind, if_exists, id_field
        self._ids: dict[tuple[str, str], SchemaId] = {}
        self._schemas: dict[int | str, RegisteredSchema] = {}

    def register(self, subject: str, text: str) -> SchemaId:
        """The id of a schema, after it was added to the artifact if necessary."""
        if (subject, text) not in self._ids:
            group, _, artifact = subject.partition("/")
            content = {"content": text, "contentType": "application/json", "references": []}
            body = {"artifactId": artifact, "artifactType": self._kind, "firstVersion": {"content": content}}
            path = f"/groups/{quote(group, safe='')}/artifacts?ifExists={self._if_exists}"
            self._ids[subject, text] = self._id(self._http.ask("POST", path, body, _JSON)["version"])
        return self._ids[subject, text]

    def lookup(self, subject: str, text: str, missing: SchemaId | None = None) -> SchemaId:
        """The id of a version of the artifact with this content. If there is none, returns `missing`, or raises
        DataError if `missing` is None."""
        if (subject, text) in self._ids:
            return self._ids[subject, text]
        group, _, artifact = subject.partition("/")
        query = f"groupId={quote(group, safe='')}&artifactId={quote(artifact, safe='')}&artifactType={self._kind}"
        path = f"/search/versions?{query}&orderby=globalId&order=desc&limit=100"
        response = self._http.response("POST", path, _JSON, content=text.encode()).json()
        versions = [version for version in response["versions"] if version.get("state") != "DISABLED"]
        if not versions and missing is None:
            raise DataError(f"The artifact {subject} has no version with the schema of the record: register it, or set "
                            "apicurio.registry.auto-register")  # fmt: skip
        if not versions:
            assert missing is not None
            return missing
        made = self._ids[subject, text] = self._id(versions[0])
        return made

    def latest(self, subject: str) -> RegisteredSchema:
        """The latest version of the artifact."""
        return self.at(subject, "branch=latest")

    def at(self, subject: str, version: str) -> RegisteredSchema:
        """A version of the artifact."""
        path = _artifact(*subject.partition("/")[::2], version)
        metadata = self._http.ask("GET", path, None, _JSON)
        return self._read(self._id(metadata), f"{path}/content", f"{path}/references")

    def schema(self, wanted: int | str) -> RegisteredSchema:
        """The schema of an id."""
        if wanted not in self._schemas:
            path = f"/ids/{self._id_field}s/{wanted}"
            self._schemas[wanted] = self._read(SchemaId(int(wanted)), path, f"{path}/references")
        return self._schemas[wanted]

    def version(self, subject: str, schema: RegisteredSchema) -> int | None:
        """None: versions of artifacts are names."""
        return None

    def _read(self, number: SchemaId, path: str, references: str) -> RegisteredSchema:
        text = self._http.response("GET", path, _ANY).text
        return RegisteredSchema(number, text, dict(self._referred(references, set())))

    def _referred(self, path: str, seen: set[str]) -> Iterator[tuple[str, str]]:
        for reference in self._http.ask("GET", path, None, _JSON):
            name = str(reference["name"])
            if name not in seen:
                seen.add(name)
                inner = _artifact(reference.get("groupId") or "default", reference["artifactId"], reference["version"])
                yield from self._referred(f"{inner}/references", seen)
                yield name, self._http.response("GET", f"{inner}/content", _ANY).text

    def _id(self, version: Mapping[str, Any]) -> SchemaId:
        return SchemaId(int(version[self._id_field]))


def _artifact(group: str, artifact: str, version: str) -> str:
    return f"/groups/{quote(group, safe='')}/artifacts/{quote(artifact, safe='')}/versions/{quote(version, safe='=')}"


class ApicurioConverter(RegistryConverter):
    """A converter with Apicurio's registry and options (apicurio_options())."""

    kind: str
    """The type of its artifacts."""

    def _configured(self, given: Mapping[str, str], parsed: Mapping[str, Any], is_key: bool) -> RegistrySetup:
        form, http = self._made_format(parsed, is_key), http_client(given, parsed)
        register = parsed["apicurio.registry.auto-register"]
        in_headers = parsed["apicurio.registry.headers.enabled"] and self._has_headers()
        return RegistrySetup(
            form,
            self._made_wire(parsed, is_key),
            ApicurioClient(
                http, self.kind, parsed["apicurio.registry.auto-register.if-exists"], parsed["apicurio.registry.use-id"]
            ),
            artifacts(parsed, "key" if is_key else "value"),
            http.close,
            register=register,
            latest=parsed["apicurio.registry.find-latest"] and not register,
            in_headers=in_headers,
            dual=in_headers,
        )

    def _has_headers(self) -> bool:
        """Whether ids may be in headers."""
        return True

    @abstractmethod
    def _made_format(self, parsed: Mapping[str, Any], is_key: bool) -> Format:
        """The format, configured."""

    @abstractmethod
    def _made_wire(self, parsed: Mapping[str, Any], is_key: bool) -> WireFormat:
        """The wire format."""

"""A stand-in for Confluent's schema registry: the part of its REST API that the converters use. No registry is among
Apache's artefacts, so the responses follow Confluent's documentation."""

from __future__ import annotations

import base64
import json
import ssl
import uuid
from typing import Any
from urllib.parse import parse_qsl, unquote

from tests.support.servers.loopback import Handler, LoopbackServer


def guid_of(number: int) -> str:
    return str(uuid.UUID(int=number))


def _entry(body: dict[str, Any]) -> dict[str, Any]:
    """A schema as it is stored; Avro is not named."""
    kind = body.get("schemaType", "AVRO")
    named = {} if kind == "AVRO" else {"schemaType": kind}
    return {"schema": body["schema"], "references": body.get("references") or [], **named}


class StubRegistry(LoopbackServer):
    """Schemas by id, and versions by subject. `refuse`: subjects that refuse new schemas; `down`: answer 503; `busy`:
    answer 429."""

    def __init__(self, user: str = "", password: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.schemas: list[dict[str, Any]] = []
        self.subjects: dict[str, list[int]] = {}
        self.requests: list[str] = []
        self.query: dict[str, str] = {}  # of the last request
        self.refuse: set[str] = set()
        self.down = self.busy = False
        self.wanted = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}" if user else None
        super().__init__(self._handler(), tls)

    def add(self, subject: str, schema: Any, references: list[dict[str, Any]] | None = None, kind: str = "AVRO") -> int:
        """Registers a schema for a subject as another client would; returns the schema's id."""
        is_text = isinstance(schema, str) and (kind == "PROTOBUF" or schema.startswith(("{", "[", '"')))
        text = schema if is_text else json.dumps(schema)
        entry = _entry({"schema": text, "references": references, "schemaType": kind})
        if entry not in self.schemas:
            self.schemas.append(entry)
        number = self.schemas.index(entry) + 1
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def answer(self, method: str, path: list[str], body: Any) -> tuple[int, Any]:
        if self.down:
            return 503, {"error_code": 50301, "message": "not now"}
        if self.busy:
            return 429, {"error_code": 429, "message": "Too Many Requests"}
        match method, path:
            case "POST", ["subjects", subject, "versions"]:
                if subject in self.refuse:
                    return 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
                return 200, self._ids(
                    self.add(subject, body["schema"], body.get("references"), body.get("schemaType", "AVRO"))
                )
            case "POST", ["subjects", subject]:
                known, versions = _entry(body), self.subjects.get(subject, [])
                if known not in self.schemas or self.schemas.index(known) + 1 not in versions:
                    return 404, {"error_code": 40403, "message": "Schema not found"}
                number = self.schemas.index(known) + 1
                return 200, {**self._ids(number), "version": versions.index(number) + 1}
            case "GET", ["subjects", subject, "versions", version] if self.subjects.get(subject):
                versions = self.subjects[subject]
                number = versions[-1] if version == "latest" else versions[int(version) - 1]
                return 200, {"subject": subject, **self._ids(number), **self.schemas[number - 1]}
            case "GET", ["schemas", "ids", number] if int(number) <= len(self.schemas):
                return 200, {**self.schemas[int(number) - 1], "guid": guid_of(int(number))}
            case "GET", ["schemas", "guids", guid] if guid in map(guid_of, range(1, len(self.schemas) + 1)):
                return 200, self.schemas[uuid.UUID(guid).int - 1]
        return 404, {"error_code": 40403, "message": "Schema not found"}

    def _ids(self, number: int) -> dict[str, Any]:
        return {"id": number, "guid": guid_of(number)}

    def _handler(self) -> type[Handler]:
        registry = self

        class Answers(Handler):
            def _serve(self) -> None:
                body = self.body()
                registry.requests.append(f"{self.command} {self.path}")
                if registry.wanted is not None and self.headers.get("Authorization") != registry.wanted:
                    found: tuple[int, Any] = (401, {"error_code": 40101, "message": "Unauthorized"})
                else:
                    path = [unquote(part) for part in self.path.partition("?")[0].strip("/").split("/")]
                    registry.query = dict(parse_qsl(self.path.partition("?")[2]))
                    found = registry.answer(self.command, path, json.loads(body or b"null"))
                text = found[1] if isinstance(found[1], bytes) else json.dumps(found[1]).encode()
                self.respond(found[0], text)

            do_GET = do_POST = _serve

        return Answers

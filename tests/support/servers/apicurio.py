"""A stub of Apicurio's registry: API v3, and of v2 what its Java client of version 2 asks of an Avro schema."""

from __future__ import annotations

import json
from typing import Any

from tests.support.servers.schema_registry import StubRegistry

GLOBAL = 1000  # global ids are content ids plus this


class StubApicurio(StubRegistry):
    """Subjects are `<group>/<artifact>`."""

    def answer(self, method: str, path: list[str], body: Any) -> tuple[int, Any]:
        if self.down:
            return 503, {"message": "not now"}
        match method, path[3:]:  # after apis/registry/v3
            case "POST", ["groups", group, "artifacts"] if path[2] == "v2":
                version = _version(self.add(f"{group}/v2", json.dumps(body)))
                return 200, {**version, "groupId": group, "id": "v2", "type": "AVRO"}
            case "POST", ["groups", group, "artifacts"]:
                content = body["firstVersion"]["content"]["content"]
                number = self.add(f"{group}/{body['artifactId']}", content, kind=body["artifactType"])
                return 200, {"version": _version(number)}
            case "POST", ["search", "versions"]:
                subject = f"{self.query['groupId']}/{self.query['artifactId']}"
                versions = [n for n in self.subjects.get(subject, []) if json.loads(self.text(n)) == body]
                return 200, {"count": len(versions), "versions": [_version(number) for number in versions]}
            case "GET", ["ids", kind, number, *more]:
                known = int(number) - (GLOBAL if kind == "globalIds" else 0)
                return self._content(known, more == ["references"])
            case "GET", ["groups", group, "artifacts", artifact, "versions", version, *more]:
                versions = self.subjects.get(f"{group}/{artifact}", [])
                if versions:
                    number = versions[-1] if version == "branch=latest" else versions[int(version) - 1]
                    return self._content(number, more == ["references"]) if more else (200, _version(number))
        return 404, {"message": "No artifact"}

    def text(self, number: int) -> str:
        return str(self.schemas[number - 1]["schema"])

    def _content(self, number: int, references: bool) -> tuple[int, Any]:
        if not 0 < number <= len(self.schemas):
            return 404, {"message": "No artifact"}
        return 200, self.schemas[number - 1]["references"] if references else self.text(number).encode()


def _version(number: int) -> dict[str, Any]:
    return {"contentId": number, "globalId": number + GLOBAL, "version": "1", "state": "ENABLED"}

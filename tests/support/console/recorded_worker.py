"""A worker of an earlier version of Connect, as recorded (`tests/tui/recordings/make_versions.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.console.console_transports import InMemory
from tui.client.calls import ApiCall
from tui.errors import refusal

FOLDER = Path(__file__).parents[2] / "tui" / "recordings" / "versions"
VERSIONS = tuple(sorted(file.stem for file in FOLDER.glob("*.jsonl")))


class RecordedWorker(InMemory):
    """Responds as the worker of this version did, whatever was changed since. `sent` are the requests for changes."""

    def __init__(self, version: str) -> None:
        lines = (FOLDER / f"{version}.jsonl").read_text("utf-8").splitlines()
        self.url = json.loads(lines[0])["url"]
        entries: list[dict[str, Any]] = [json.loads(line) for line in lines[1:]]
        self.responses = {(entry["method"], entry["path"]): entry for entry in entries}
        self.sent: list[str] = []

    async def send(self, call: ApiCall) -> Any:
        if call.changes:
            self.sent.append(f"{call.method} {call.path}")
        if call.path == "/connectors" and call.method == "POST" and "initial_state" not in call.body:
            return {"name": call.body["name"], "config": call.body["config"], "tasks": [], "type": "sink"}
        entry = self.responses.get((call.method, call.path)) or self._of_another(call)
        if "error" in entry:
            raise refusal(entry["status"], entry["message"])
        return entry["answer"]

    def _of_another(self, call: ApiCall) -> dict[str, Any]:
        """The response to the same request about another connector; 404 for a path that was not recorded."""
        head, _, rest = call.path.removeprefix("/connectors/").partition("/")
        same = [f"/connectors/{name}/{rest}" for name in ("copy", "lines")] if head and rest else []
        for path in same:
            if (call.method, path) in self.responses:
                return self.responses[call.method, path]
        return {"error": "NotFound", "status": 404, "message": "HTTP 404 Not Found"}

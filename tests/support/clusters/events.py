"""A client of GET /events."""

from __future__ import annotations

import json
import threading
import urllib.request
from typing import Any


class Follower:
    """Reads GET /events on its own thread."""

    def __init__(self, url: str) -> None:
        self._answer = urllib.request.urlopen(f"{url}/events", timeout=60)
        self.events: list[tuple[str, dict[str, Any]]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [data for k, data in list(self.events) if k == kind]

    def progress(self, name: str) -> list[dict[str, Any]]:
        return [data["connectors"][name] for data in self.of("progress") if name in data["connectors"]]

    def notices(self, name: str) -> str:
        return "\n".join(n["message"] for n in self.of("notice") if n["connector"] == name)

    def _read(self) -> None:
        kind = ""
        for line in self._answer:
            key, _, rest = line.decode().rstrip("\n").partition(": ")
            if key == "event":
                kind = rest
            elif key == "data":
                self.events.append((kind, json.loads(rest)))

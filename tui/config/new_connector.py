"""A connector that has not been created yet: its config so far, and the request that creates it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tui.config.definitions import IMPORTANCE, KeyDefinition, Validation
from tui.offsets import partitions

STATES = ("RUNNING", "PAUSED", "STOPPED")
IMPORTANT = IMPORTANCE["HIGH"]


@dataclass(slots=True)
class NewConnector:
    """`values` are the user's values by key, including `name` and `connector.class`."""

    plugin: str
    values: dict[str, str] = field(default_factory=dict)
    state: str = "RUNNING"
    offsets: str = ""  # initial offsets as JSON; only Headrace's worker supports them

    def __post_init__(self) -> None:
        self.values.setdefault("connector.class", self.plugin)

    @property
    def name(self) -> str:
        return self.values.get("name", "")

    def to_validate(self) -> dict[str, str]:
        return {key: value for key, value in self.values.items() if value != "" or key == "name"}

    def body(self) -> dict[str, Any]:
        """The body of `POST /connectors`, without fields that have their default."""
        config = {key: value for key, value in self.values.items() if value != ""}
        body: dict[str, Any] = {"name": self.name, "config": config}
        if self.state != "RUNNING":
            body["initial_state"] = self.state
        if self.offsets.strip():
            body["initial_offsets"] = json.loads(self.offsets)
        return body

    def offsets_trouble(self) -> str:
        """The reason why the initial offsets are invalid; empty if they are valid."""
        if not self.offsets.strip():
            return ""
        try:
            entries = json.loads(self.offsets)
        except (ValueError, RecursionError) as error:
            return f"the initial offsets are not JSON: {error}"
        good = isinstance(entries, list) and all(map(partitions.is_entry, entries))
        return "" if good else 'initial offsets have to be a list: [{"partition": {…}, "offset": {…}}]'

    def rows(self, keys: Mapping[str, KeyDefinition], everything: bool) -> list[str]:
        """Keys to show: the name, then required and important keys, keys with a value, and keys with an error."""
        ranked = sorted((key for key in keys.values() if key.name != "connector.class"), key=lambda key: key.rank)
        shown = [key.name for key in ranked if everything or self._matters(key)]
        stray = [key for key in self.values if key not in keys and key != "connector.class"]
        return list(dict.fromkeys(["name", *shown, *sorted(stray)]))

    def _matters(self, key: KeyDefinition) -> bool:
        important = IMPORTANCE.get(key.importance, 3) == IMPORTANT and key.visible
        return key.required or important or bool(key.errors) or key.name in self.values

    def errors(self, validation: Validation | None, taken: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Errors by key: those of the worker, and a name that is missing or exists already."""
        errors = dict(validation.errors) if validation else {}
        if self.name in taken:
            errors["name"] = (f"a connector {self.name} exists already", *errors.get("name", ()))
        if not self.name:
            errors["name"] = ("a connector needs a name",)
        return errors


def offsets_message(response: object) -> str:
    """Connect's message about the initial offsets (KIP-995) in the response to `POST /connectors`; empty without
    one."""
    message = response.get("initial_offsets_response") if isinstance(response, dict) else None
    return message if isinstance(message, str) else ""

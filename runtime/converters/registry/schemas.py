"""Schemas as a registry stores them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class SchemaId(NamedTuple):
    """The id of a schema in a registry. `guid`: the same in all registries; empty if the registry has none."""

    number: int
    guid: str = ""


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema with its id; `references` has the texts of all schemas that it needs, dependencies first, by the names
    with which they are referred to. `own`: the references of the schema itself, as the registry describes them."""

    id: SchemaId
    text: str
    references: Mapping[str, str]
    own: tuple[Mapping[str, object], ...] = ()

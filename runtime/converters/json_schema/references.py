"""References between JSON schemas: `$ref` to a definition, an id, or another document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

import orjson

from runtime.api.errors import DataError

_IDS = ("$id", "id", "$anchor")


class SchemaPlace(NamedTuple):
    """A schema, and the document around it."""

    document: Any
    root: Any

    def at(self, document: Any) -> SchemaPlace:
        return SchemaPlace(document, self.root)


class SchemaDocuments:
    """A document and those that it refers to, by name."""

    def __init__(self, text: str, references: Mapping[str, str]) -> None:
        document = _loaded(text)
        self.root = SchemaPlace(document, document)
        self._base = str(document.get("$id") or document.get("id") or "")
        self._others = {name: _loaded(other) for name, other in references.items()}

    def resolve(self, place: SchemaPlace) -> SchemaPlace:
        """The schema that a `$ref` refers to; DataError if there is none."""
        reference = str(place.document["$ref"])
        base, fragment = urldefrag(reference)
        root = self._document(base) if base else place.root
        schema = None
        if root is not None:
            fragment = unquote(fragment)
            schema = _pointed(root, fragment) if fragment in ("", "#") or fragment.startswith("/") else None
            schema = _identified(root, fragment) if schema is None and fragment else schema
        if schema is None:
            schema, root = _identified(place.root, reference), place.root
        if not isinstance(schema, dict):
            raise DataError(f"The JSON schema refers to {reference}, which does not exist")
        return SchemaPlace(schema, root)

    def _document(self, base: str) -> Any:
        wanted = urljoin(self._base, base)
        for name, document in self._others.items():
            ids = {name, urljoin(self._base, name), str(document.get("$id") or "")}
            if base in ids or wanted in ids:
                return document
        return self.root.document if wanted == self._base else None


def _loaded(text: str) -> Any:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DataError(f"The JSON schema is not valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise DataError(f"The JSON schema {text[:40]} has no type, which Connect does not support")
    return document


def _pointed(document: Any, pointer: str) -> Any:
    """The part of a document at a JSON pointer; None if it does not exist."""
    for part in pointer.strip("#").split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, list) and key.isdigit() and int(key) < len(document):
            document = document[int(key)]
        elif isinstance(document, dict) and key in document:
            document = document[key]
        else:
            return None
    return document


def _identified(document: Any, name: str) -> Any:
    wanted = {name, f"#{name}", name.lstrip("#")}
    return next((part for part in _all(document) if any(part.get(key) in wanted for key in _IDS)), None)


def _all(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict):
        yield document
    inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    for part in inner:
        yield from _all(part)

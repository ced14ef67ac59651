"""Message types of Protobuf schemas, with the files that they import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.errors import DataError
from runtime.converters.protobuf.known import known_file
from runtime.converters.protobuf.parse import Params, ParsedFile, parse

_MAIN = "headrace/schema.proto"


class Descriptors:
    """The message types of one schema, in a descriptor pool of its own. DataError if the schema is invalid."""

    def __init__(self, main: ParsedFile | str, references: Mapping[str, str]) -> None:
        """`main` is a parsed file, or the text of a schema; `references` has the texts of imported files by name."""
        from google.protobuf.descriptor_pool import DescriptorPool

        self._pool, self._references = DescriptorPool(), references
        self._added: set[str] = set()
        self.params: Params = {}
        parsed = parse(main, _MAIN) if isinstance(main, str) else main
        self._proto = parsed.proto
        self._add(parsed)

    def message(self, path: Sequence[int]) -> Any:
        """The descriptor of the message type at a path of indexes; entries of maps are not counted."""
        types, names = self._proto.message_type, []
        for index in path:
            declared = [kind for kind in types if not kind.options.map_entry]
            if not 0 <= index < len(declared):
                raise DataError(f"Invalid message indexes: {list(path)}")
            names.append(declared[index].name)
            types = declared[index].nested_type
        package = [self._proto.package] if self._proto.package else []
        return self._pool.FindMessageTypeByName(".".join(package + names))

    def path(self, full_name: str) -> tuple[int, ...]:
        """The path of a message type; DataError if the schema does not have it."""
        package = f"{self._proto.package}." if self._proto.package else ""
        types, path = self._proto.message_type, []
        for name in full_name.removeprefix(package).split("."):
            declared = [kind for kind in types if not kind.options.map_entry]
            index = next((n for n, kind in enumerate(declared) if kind.name == name), None)
            if index is None:
                raise DataError(f"The schema in the registry has no message type {full_name}")
            path.append(index)
            types = declared[index].nested_type
        return tuple(path)

    def _add(self, parsed: ParsedFile) -> None:
        proto = parsed.proto
        self._added.add(proto.name)
        self.params.update(parsed.params)
        public = {proto.dependency[index] for index in proto.public_dependency}
        imports = [name for name in proto.dependency if self._import(name)]
        del proto.dependency[:], proto.public_dependency[:]
        proto.dependency.extend(imports)
        proto.public_dependency.extend(n for n, name in enumerate(imports) if name in public)
        try:
            self._pool.AddSerializedFile(proto.SerializeToString())
        except (TypeError, KeyError) as error:
            raise DataError(f"The Protobuf schema is invalid: {error}") from error

    def _import(self, name: str) -> bool:
        """Whether the file exists; files that only declare options are often missing."""
        if name in self._added:
            return True
        known = known_file(name)
        if known is None and name not in self._references:
            return False
        self._add(ParsedFile(known) if known is not None else parse(self._references[name], name))
        return True


def message_class(descriptor: Any) -> Any:
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(descriptor)

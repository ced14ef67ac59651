"""Reads Java class files: name, super class, interfaces, access flags, constructors and the code of methods.

The format is chapter 4 of the Java Virtual Machine Specification. Attributes that nobody needs here are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

ACC_PUBLIC = 0x0001
ACC_INTERFACE = 0x0200
ACC_ABSTRACT = 0x0400

_MAGIC = b"\xca\xfe\xba\xbe"
_UTF8, _LONG, _DOUBLE, _CLASS = 1, 5, 6, 7
_MEMBERS = (9, 10, 11)
_LDC, _WITH_CLASS = 0x12, (0x13, 0xBD, 0xC0, 0xC1, 0xC5)
"""Instructions with a class: constants, new arrays, casts and `instanceof`. After `new` a constructor is called."""
_ENTRY_BYTES = {3: 5, 4: 5, 7: 3, 8: 3, 9: 5, 10: 5, 11: 5, 12: 5, 15: 4, 16: 3, 17: 5, 18: 5, 19: 3, 20: 3}
"""Length of an entry of the constant pool by its tag, for tags of fixed length that fill one index."""


class ClassFormatError(ValueError):
    """The bytes are not a class file, or are incomplete."""


@dataclass(frozen=True, slots=True)
class ClassMember:
    """A field or method. `attributes` are the raw bytes by name."""

    access: int
    name: str
    descriptor: str
    attributes: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Reference:
    """A field or method to which code refers."""

    owner: str
    name: str
    descriptor: str


class ClassFile:
    """A class file. Class names have dots, as in Java sources; `super_name` is empty for java.lang.Object.

    Raises ClassFormatError if the part up to the interfaces cannot be read.
    """

    def __init__(self, data: bytes) -> None:
        if data[:4] != _MAGIC:
            raise ClassFormatError("not a class file")
        self._data = data
        try:
            self._entries, at = _constant_pool(data)
            self.access = self._u2(at)
            self.name = self._class_name(self._u2(at + 2))
            self.super_name = self._class_name(self._u2(at + 4))
            count = self._u2(at + 6)
            self.interfaces = tuple(self._class_name(self._u2(at + 8 + 2 * n)) for n in range(count))
            self._members_at = at + 8 + 2 * count
        except (IndexError, KeyError) as error:
            raise ClassFormatError(f"the class file is incomplete: {error!r}") from error

    @property
    def is_concrete(self) -> bool:
        """True if the class is neither abstract nor an interface."""
        return not self.access & (ACC_ABSTRACT | ACC_INTERFACE)

    @property
    def is_public(self) -> bool:
        return bool(self.access & ACC_PUBLIC)

    @property
    def has_public_default_constructor(self) -> bool:
        constructor = self.method("<init>", "()V")
        return constructor is not None and bool(constructor.access & ACC_PUBLIC)

    def method(self, name: str, descriptor: str) -> ClassMember | None:
        return next((m for m in self.methods if (m.name, m.descriptor) == (name, descriptor)), None)

    def field(self, name: str) -> ClassMember | None:
        return next((f for f in self.fields if f.name == name), None)

    @property
    def fields(self) -> tuple[ClassMember, ...]:
        return self._members[0]

    @property
    def methods(self) -> tuple[ClassMember, ...]:
        return self._members[1]

    def class_references(self) -> Iterator[str]:
        """The classes that the class extends or implements, or that its code uses, arrays of them included. Those of
        descriptors alone, and those that only share an outer class with one of them, are left out."""
        owners: set[int] = set()
        classes: list[int] = []
        for index, at in enumerate(self._entries):
            tag = self._data[at] if at else 0
            if tag == _CLASS:
                classes.append(index)
            elif tag in _MEMBERS:
                owners.add(self._u2(at + 1))
        doubtful = self._nested - owners
        code = b"".join(self.code(method) for method in self.methods) if doubtful else b""
        for index in classes:
            if index not in doubtful or _uses(code, index):
                name = self._class_name(index)
                yield name.lstrip("[").removeprefix("L").removesuffix(";") if name.startswith("[") else name

    @cached_property
    def _nested(self) -> set[int]:
        """The entries of classes in the tables of nested classes, which lists also those that the code does not use."""
        listed: set[int] = set()
        for name, start, end in self._attributes(self._members[2]):
            if name == "InnerClasses":
                listed |= {self._u2(at + side) for at in range(start + 2, end, 8) for side in (0, 2)}
            elif name == "NestMembers":
                listed |= {self._u2(at) for at in range(start + 2, end, 2)}
            elif name == "NestHost":
                listed.add(self._u2(start))
        return listed

    def code(self, method: ClassMember) -> bytes:
        """The bytecode of a method; empty for abstract and native methods."""
        attribute = method.attributes.get("Code", b"")
        return attribute[8 : 8 + int.from_bytes(attribute[4:8])]

    def string(self, index: int) -> str | None:
        """The text of a string constant; None if the entry is not one."""
        at = self._entries[index]
        return self._text(self._u2(at + 1)) if self._data[at] == 8 else None

    def reference(self, index: int) -> Reference:
        """The field or method that an instruction names."""
        at = self._entries[index]
        pair = self._entries[self._u2(at + 3)]
        return Reference(
            self._class_name(self._u2(at + 1)), self._text(self._u2(pair + 1)), self._text(self._u2(pair + 3))
        )

    @cached_property
    def _members(self) -> tuple[tuple[ClassMember, ...], tuple[ClassMember, ...], int]:
        """Fields, methods, and the position behind them."""
        try:
            fields, at = self._read_members(self._members_at)
            methods, end = self._read_members(at)
        except IndexError as error:
            raise ClassFormatError(f"the members of {self.name} are incomplete") from error
        return fields, methods, end

    def _read_members(self, at: int) -> tuple[tuple[ClassMember, ...], int]:
        members = []
        count = self._u2(at)
        at += 2
        for _ in range(count):
            access, name, descriptor = self._u2(at), self._text(self._u2(at + 2)), self._text(self._u2(at + 4))
            attributes = {}
            at += 6
            end = at + 2
            for key, start, end in self._attributes(at):
                attributes[key] = self._data[start:end]
            at = end
            members.append(ClassMember(access, name, descriptor, attributes))
        return tuple(members), at

    def _attributes(self, at: int) -> Iterator[tuple[str, int, int]]:
        """Name, start and end of each attribute in the table at this position."""
        count = self._u2(at)
        at += 2
        for _ in range(count):
            start = at + 6
            end = start + int.from_bytes(self._data[at + 2 : at + 6])
            yield self._text(self._u2(at)), start, end
            at = end

    def _class_name(self, index: int) -> str:
        return self._text(self._u2(self._entries[index] + 1)).replace("/", ".") if index else ""

    def _text(self, index: int) -> str:
        at = self._entries[index]
        raw = self._data[at + 3 : at + 3 + self._u2(at + 1)]
        # Java writes NUL as two bytes and other planes as surrogate pairs.
        return raw.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")

    def _u2(self, at: int) -> int:
        return self._data[at] << 8 | self._data[at + 1]


def _uses(code: bytes, index: int) -> bool:
    """Whether the code seems to have an instruction with this class; other operands may look like one."""
    return any(bytes([op]) + index.to_bytes(2) in code for op in _WITH_CLASS) or (
        index < 256 and bytes([_LDC, index]) in code
    )


def _constant_pool(data: bytes) -> tuple[list[int], int]:
    """The position of each entry by its index, and the position after the pool."""
    count = data[8] << 8 | data[9]
    entries = [0] * count
    at, index = 10, 1
    lengths = _ENTRY_BYTES
    while index < count:
        tag = data[at]
        entries[index] = at
        index += 1
        if tag == _UTF8:
            at += 3 + (data[at + 1] << 8 | data[at + 2])
        elif tag in (_LONG, _DOUBLE):
            at += 9
            index += 1
        else:
            at += lengths[tag]
    return entries, at

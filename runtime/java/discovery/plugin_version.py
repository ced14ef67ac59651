"""Determines the version of a plugin from the code of its version() method, or from the manifest of its jar."""

from __future__ import annotations

from dataclasses import dataclass

from runtime import CONNECT_VERSION
from runtime.java.discovery.class_file import ClassFile, ClassMember, Reference
from runtime.java.discovery.class_index import ClassIndex
from runtime.java.discovery.connect_api import KAFKA_PLUGINS, VERSIONED
from runtime.java.discovery.java_plugin import UNDEFINED

_ACONST_NULL, _LDC, _LDC_W, _ALOAD_0, _ARETURN = 0x01, 0x12, 0x13, 0x2A, 0xB0
_GETSTATIC, _INVOKEVIRTUAL, _INVOKESPECIAL, _INVOKESTATIC = 0xB2, 0xB6, 0xB7, 0xB8
_TEXT = "Ljava/lang/String;"
_RETURNS_TEXT = f"(){_TEXT}"
_KAFKA_VERSION = Reference("org.apache.kafka.common.utils.AppInfoParser", "getVersion", _RETURNS_TEXT)
_MOST_CALLS = 8


@dataclass(frozen=True, slots=True)
class PluginVersion:
    """`text` is None if it can only be computed by the class; `certain` is False if it is the manifest's."""

    text: str | None
    certain: bool


def version_of(index: ClassIndex, name: str) -> PluginVersion:
    """The version that Connect would list for this plugin class."""
    if VERSIONED not in index.ancestors(name):
        return PluginVersion(UNDEFINED, True)
    owner = _class_with_version(index, name)
    if owner is None:
        return _inherited(index, name)
    text = _Interpreter(index, name).result(owner, "version", _MOST_CALLS)
    if text is not None:
        return PluginVersion(text, True)
    return PluginVersion(index.archive_of(name).manifest().get("Implementation-Version") or None, False)


def _inherited(index: ClassIndex, name: str) -> PluginVersion:
    """Without a method of the plugin: the default, or Kafka's version if the plugin extends a plugin of Kafka."""
    extended = KAFKA_PLUGINS & index.ancestors(name)
    return PluginVersion(CONNECT_VERSION if extended else UNDEFINED, True)


def _class_with_version(index: ClassIndex, name: str) -> ClassFile | None:
    """The class or interface of the location whose version() a call would reach."""
    found = index.load(name)
    if found is None:
        return None
    method = found.method("version", _RETURNS_TEXT)
    if method is not None and found.code(method):
        return found
    for parent in index.parents(name):
        if (inherited := _class_with_version(index, parent)) is not None:
            return inherited
    return None


class _Interpreter:
    """Follows methods that only return a constant or call another method."""

    def __init__(self, index: ClassIndex, plugin: str) -> None:
        self._index = index
        self._plugin = plugin

    def result(self, owner: ClassFile, name: str, calls: int) -> str | None:
        method = owner.method(name, _RETURNS_TEXT)
        if method is None or not calls:
            return None
        code = owner.code(method)
        if code[-1:] != bytes([_ARETURN]):
            return None
        body = code[:-1]
        match list(body):
            case [op, at] if op == _LDC:
                return owner.string(at)
            case [op, high, low] if op == _LDC_W:
                return owner.string(high << 8 | low)
            case [op] if op == _ACONST_NULL:
                return "null"
            case [op, high, low] if op == _GETSTATIC:
                return self._constant(owner.reference(high << 8 | low))
            case [op, high, low] if op == _INVOKESTATIC:
                return self._call(owner.reference(high << 8 | low), calls - 1)
            case [this, op, high, low] if this == _ALOAD_0 and op in (_INVOKEVIRTUAL, _INVOKESPECIAL):
                target = owner.reference(high << 8 | low)
                if op == _INVOKEVIRTUAL:
                    target = Reference(self._plugin, target.name, target.descriptor)
                return self._call(target, calls - 1)
        return None

    def _call(self, target: Reference, calls: int) -> str | None:
        if target == _KAFKA_VERSION:
            return CONNECT_VERSION
        if target.descriptor != _RETURNS_TEXT:
            return None
        current: str = target.owner
        while (owner := self._index.load(current)) is not None:
            if owner.method(target.name, target.descriptor) is not None:
                return self.result(owner, target.name, calls)
            current = owner.super_name
        return None

    def _constant(self, target: Reference) -> str | None:
        owner = self._index.load(target.owner)
        field = owner.field(target.name) if owner is not None else None
        if owner is None or field is None:
            return None
        return _initial(owner, field)


def _initial(owner: ClassFile, field: ClassMember) -> str | None:
    value = field.attributes.get("ConstantValue")
    return owner.string(int.from_bytes(value)) if value else None

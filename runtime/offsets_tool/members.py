"""Members of a Connect group, ours and Java's: parses the metadata with which they joined."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

from runtime.kafka.group import process_identity


@dataclass(frozen=True, slots=True)
class MemberInfo:
    """A member: the URL of its REST API, empty if unknown, and whether its process is known to have ended."""

    url: str = ""
    gone: bool = False


def member_info(metadata: bytes) -> MemberInfo:
    """Parses the metadata of a member."""
    try:
        parsed = json.loads(metadata)
    except ValueError:
        return MemberInfo(_javas_url(metadata))
    if not isinstance(parsed, dict):
        return MemberInfo()
    return MemberInfo(str(parsed.get("url") or ""), process_identity.is_gone(parsed))


def _javas_url(metadata: bytes) -> str:
    """Metadata of Java's workers: protocol version, URL, and the offset up to which they have read configs."""
    try:
        _, length = struct.unpack_from(">hh", metadata)
        url = metadata[4 : 4 + length].decode()
    except (struct.error, UnicodeDecodeError):
        return ""
    return url if url.startswith("http") else ""

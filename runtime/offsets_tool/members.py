"""What the members of a Connect group, ours and Java's, say of themselves."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

from runtime.kafka.group import process_identity


@dataclass(frozen=True, slots=True)
class MemberInfo:
    """A member: where its REST API is (empty when it does not say), and whether it is known to have ended."""

    url: str = ""
    gone: bool = False


def about(metadata: bytes) -> MemberInfo:
    """From what it told the group when it joined."""
    try:
        said = json.loads(metadata)
    except ValueError:
        return MemberInfo(_javas_url(metadata))
    if not isinstance(said, dict):
        return MemberInfo()
    return MemberInfo(str(said.get("url") or ""), process_identity.is_gone(said))


def _javas_url(metadata: bytes) -> str:
    """Java's workers tell the version of their protocol, their URL, and how far they have read the configs."""
    try:
        _, length = struct.unpack_from(">hh", metadata)
        url = metadata[4 : 4 + length].decode()
    except (struct.error, UnicodeDecodeError):
        return ""
    return url if url.startswith("http") else ""

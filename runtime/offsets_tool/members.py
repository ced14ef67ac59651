"""Members of a Connect group, ours and Java's, by the metadata with which they joined."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.kafka.group.protocol import ProtocolError, decode_metadata
from runtime.system import process_identity


@dataclass(frozen=True, slots=True)
class MemberInfo:
    """A member: the URL of its REST API, empty if unknown, and whether its process is known to have ended."""

    url: str = ""
    gone: bool = False


def member_info(data: bytes) -> MemberInfo:
    """The member with this metadata."""
    try:
        metadata = decode_metadata(data)
    except ProtocolError:
        return MemberInfo()
    gone = metadata.details is not None and process_identity.is_gone(metadata.details.process)
    return MemberInfo(metadata.url, gone)

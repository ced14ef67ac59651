"""The decoder of pgoutput with bytes that PostgreSQL 15 has sent."""

from __future__ import annotations

import pytest

from runtime.api.errors import ConnectError
from runtime.connectors.postgres.wire.lsn import lsn_text, parse_lsn
from runtime.connectors.postgres.wire.pgoutput import (
    UNCHANGED,
    Begin,
    Change,
    Commit,
    Message,
    Relation,
    RelationColumn,
    ReplicationOrigin,
    Truncate,
    decode,
)

MESSAGES: list[tuple[str, Message | None]] = [
    ("42000000000192a5a80003044662f905b6000002dc", Begin(0x192A5A8, 1795810084840886, 732)),
    ("4300000000000192a5a8000000000192a5d80003044662f905b6", Commit(0x192A5A8, 0x192A5D8, 1795810084840886)),
    ("4f00000000000012344561737400", ReplicationOrigin(0x1234, "East")),
    ("59000040027075626c6963006d6f6f6400", None),
    (
        "52000040057075626c6963006974656d73006400040169640000000017ffffffff006e616d6500000004130000000d006269670000000019"
        "ffffffff006d0000004002ffffffff",
        Relation(
            16389, "public", "items", "d",
            (
                RelationColumn("id", 23, -1, True),
                RelationColumn("name", 1043, 13, False),
                RelationColumn("big", 25, -1, False),
                RelationColumn("m", 16386, -1, False),
            ),
        ),
    ),
    (
        "490000400c4e0002740000000131740000000574c3a47874",
        Change("I", 16396, None, [b"1", "täxt".encode()]),
    ),
    (
        "55000040054e0004740000000131740000000162756e",
        Change("U", 16389, None, [b"1", b"b", UNCHANGED, None]),
    ),
    (
        "55000040054b00047400000001316e6e6e4e0004740000000132740000000162756e",
        Change("U", 16389, [b"1", None, None, None], [b"2", b"b", UNCHANGED, None]),
    ),
    (
        "550000400c4f00027400000001317400000001614e00027400000001316e",
        Change("U", 16396, [b"1", b"a"], [b"1", None], True),
    ),
    ("44000040054b00047400000001326e6e6e", Change("D", 16389, [b"2", None, None, None], None)),
    ("440000400c4f00027400000001316e", Change("D", 16396, [b"1", None], None, True)),
    ("540000000200000040050000400c", Truncate((16389, 16396))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), MESSAGES, ids=[text[:2] + text[10:16] for text, _ in MESSAGES])
def test_messages(text: str, expected: Message | None) -> None:
    assert decode(bytes.fromhex(text)) == expected


@pytest.mark.parametrize("text", [text for text, message in MESSAGES if message is not None])
def test_a_message_that_is_cut_off(text: str) -> None:
    data = bytes.fromhex(text)
    for length in range(1, len(data)):
        with pytest.raises(ConnectError, match="incomplete message"):
            decode(data[:length])


def test_an_unknown_message() -> None:
    with pytest.raises(ConnectError, match="unknown type 'S'"):
        decode(b"S\0\0\0\1\1")


def test_positions() -> None:
    assert lsn_text(0x16B374D848) == "16/B374D848"
    assert parse_lsn("16/B374D848") == 0x16B374D848

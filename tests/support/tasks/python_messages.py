"""Python objects with the interface of the Kafka client's messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """The methods of confluent_kafka.Message that a sink's conversion uses."""

    _offset: int
    _value: bytes | None
    _key: bytes | None = None
    _headers: list[tuple[str, bytes | None]] | None = None
    _topic: str = "t"
    _partition: int = 0
    _time: int = 1_700_000_000_000

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        return 1, self._time

    def error(self) -> None:
        return None

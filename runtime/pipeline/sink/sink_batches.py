"""Kafka messages as batches of uniform records: of one topic, and of one schema or with the same keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from runtime.api.data.batch import SinkBatch
from runtime.api.data.columns import ConstantColumn, MixedBatchError, ValueBatch, batch_method
from runtime.api.data.record import Headers, SinkRecord

if TYPE_CHECKING:
    from runtime.api.converter import Converter, HeaderConverter
    from runtime.pipeline.load import Converters
    from runtime.pipeline.tolerance import Fallbacks

T = TypeVar("T")

MIN_AVERAGE = 16  # records per batch, on average, above which several batches are faster than single records


class _Part(NamedTuple):
    """Messages of one topic of which all or none have a key, and all or none have a value."""

    topic: str
    messages: Sequence[Any]
    keys: Sequence[bytes | None]
    data: Sequence[bytes | None]
    places: Sequence[int]

    def at(self, places: Sequence[int]) -> _Part:
        if len(places) == len(self.places):
            return self
        return _Part(self.topic, *(_items_at(places, column) for column in self[1:]))


class SinkBatches:
    """Converts messages of a sink task in batches."""

    def __init__(self, converters: Converters, by_keys: bool, fallbacks: Fallbacks, min_average: int) -> None:
        """`by_keys`: maps with different keys go into different batches. `min_average`: as MIN_AVERAGE."""
        self._key, self._value, self._header = converters
        self._keys = batch_method(self._key, "to_connect", "to_connect_batch")
        self._values = batch_method(self._value, "to_connect", "to_connect_batch")
        if self._key.uses_headers or self._value.uses_headers:
            self._values = None
        self._shapes = batch_method(self._value, "to_connect", "schema_keys")
        self._schema_headers = schema_headers(self._key, self._value)
        self._by_keys, self._fallbacks, self._min_average = by_keys, fallbacks, min_average

    def of(self, messages: Sequence[Any]) -> list[SinkBatch] | None:
        """All messages in a few batches, each in order; None if the messages have to be converted one by one."""
        if self._values is None or not messages:
            return None
        try:
            batches = [batch for part in _parts(messages, self._min_average) for batch in self._batches(part)]
        except MixedBatchError:
            return None
        except Exception as error:  # processed again record by record, so that only the record at fault fails
            self._fallbacks.count("converter", error)
            return None
        return None if _too_many(len(batches), len(messages), self._min_average) else batches

    def _batches(self, part: _Part) -> list[SinkBatch]:
        batch = self._batch(part)
        if batch is None:
            shapes = None if self._shapes is None else self._shapes(part.data)
            if shapes is None:
                raise MixedBatchError
            batches = [self._batch(part.at(places)) for places in _by_shape(shapes, self._min_average)]
            uniform = [batch for batch in batches if batch is not None]
            if len(uniform) < len(batches):
                raise MixedBatchError
            return uniform
        if not self._by_keys or batch.values.schema is not None or _uniform_maps(batch.values):
            return [batch]
        shapes = [tuple(row) if type(row) is dict else type(row) for row in batch.values.rows]
        return [_select(batch, places) for places in _by_shape(shapes, self._min_average)]

    def _batch(self, part: _Part) -> SinkBatch | None:
        topic, messages = part.topic, part.messages
        values = _converted(self._value, self._values, topic, part.data)
        keys = _converted(self._key, self._keys, topic, part.keys)
        if values is None or keys is None:
            return None
        raw_headers = [message.headers() for message in messages]
        headers: Sequence[Headers | None] = ConstantColumn(None, len(raw_headers))
        if any(raw_headers):
            if any(has_header(own, self._schema_headers) for own in raw_headers):
                raise MixedBatchError
            headers = [own and connect_headers(self._header, topic, own) for own in raw_headers]
        batch = SinkBatch(topic, messages, keys, values, headers)
        batch.places = part.places
        return batch


def schema_headers(*converters: Converter) -> frozenset[str]:
    """The headers with which a record has to be converted together with its headers."""
    return frozenset(converter.schema_header for converter in converters if converter.schema_header is not None)


def has_header(headers: Sequence[tuple[str, bytes | None]] | None, names: frozenset[str]) -> bool:
    return bool(headers) and bool(names) and any(name in names for name, _ in headers or ())


def connect_headers(converter: HeaderConverter, topic: str, headers: Sequence[tuple[str, bytes | None]]) -> Headers:
    convert = converter.to_connect_header
    return [(name, *convert(topic, name, data)) for name, data in headers]


def batches_of(records: Sequence[SinkRecord], min_average: int) -> list[SinkBatch] | None:
    """Converted records in a few batches; None if the records are too different."""
    try:
        shapes = list(map(_shape, records))
        return [_batch_of(_items_at(places, records), places) for places in _by_shape(shapes, min_average)]
    except MixedBatchError:
        return None


def _shape(record: SinkRecord) -> Hashable:
    key, value, schema = record.key, record.value, record.value_schema
    kind = tuple(value) if schema is None and type(value) is dict else type(value)
    return record.topic, id(record.key_schema), key is None, id(schema), kind


def _batch_of(records: Sequence[SinkRecord], places: Sequence[int]) -> SinkBatch:
    first = records[0]
    keys = ValueBatch(first.key_schema, [record.key for record in records])
    values = ValueBatch(first.value_schema, [record.value for record in records])
    messages, headers = [record.source for record in records], [record.headers for record in records]
    batch = SinkBatch(first.topic, messages, keys, values, headers)
    batch.places = places
    return batch


def in_order(batches: Sequence[SinkBatch]) -> list[SinkRecord]:
    """The remaining records of all batches in their original order."""
    placed = [pair for batch in batches for pair in zip(batch.places, batch.records, strict=True)]
    return [record for _, record in sorted(placed, key=itemgetter(0))]


def _parts(messages: Sequence[Any], min_average: int) -> list[_Part]:
    topics = {message.topic() for message in messages}
    keys = [message.key() for message in messages]
    data = [message.value() for message in messages]
    whole = _Part(messages[0].topic(), messages, keys, data, range(len(messages)))
    if len(topics) == 1 and all(column.count(None) in (0, len(column)) for column in (keys, data)):
        return [whole]
    parts = zip(messages, keys, data, strict=True)
    shapes = [(message.topic(), key is None, value is None) for message, key, value in parts]
    return [whole.at(places)._replace(topic=shapes[places[0]][0]) for places in _by_shape(shapes, min_average)]


def _converted(converter: Converter, convert: Any, topic: str, data: Sequence[bytes | None]) -> ValueBatch | None:
    if data[0] is None:
        schema, null = converter.to_connect(topic, None)
        return ValueBatch(schema, ConstantColumn(null, len(data)))
    values: ValueBatch | None = None if convert is None else convert(topic, data)
    return values


def _by_shape(shapes: Sequence[Hashable], min_average: int) -> list[Sequence[int]]:
    """The indexes of the records of each shape; MixedBatchError if there are too many shapes."""
    different = len(set(shapes))
    if different == 1:
        return [range(len(shapes))]
    if _too_many(different, len(shapes), min_average):
        raise MixedBatchError
    places: dict[Hashable, list[int]] = defaultdict(list)
    for place, shape in enumerate(shapes):
        places[shape].append(place)
    return list(places.values())


def _too_many(batches: int, records: int, min_average: int) -> bool:
    return batches > 1 and batches * min_average > records


def _uniform_maps(values: ValueBatch) -> bool:
    """Whether all maps have the same keys, or all values are null."""
    try:
        return bool(values.all_null or values.columns)
    except MixedBatchError:
        return False


def _select(batch: SinkBatch, places: Sequence[int]) -> SinkBatch:
    """A batch with some of the records."""
    if len(places) == len(batch):
        return batch
    part = batch.copy()
    part.messages, part.headers = _items_at(places, batch.messages), _items_at(places, batch.headers)
    part.places = _items_at(places, batch.places)
    part.keys = ValueBatch(batch.keys.schema, _items_at(places, batch.keys.rows))
    part.values = ValueBatch(batch.values.schema, _items_at(places, batch.values.rows))
    topics = batch.topics()
    part.route(
        ConstantColumn(topics.value, len(places)) if type(topics) is ConstantColumn else _items_at(places, topics)
    )
    return part


def _items_at(places: Sequence[int], column: Sequence[T]) -> list[T]:
    return [column[place] for place in places]

"""The differences of two records: key, value and headers, field by field where they are JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from typing import Any, NamedTuple

from tui.topics import exact_json
from tui.topics.byte_views import ByteView, shown
from tui.topics.decoding import Decoded, DecodedRecord

Json = Any
MAX_ALIGNED = 500  # items of arrays that are aligned; longer ones are compared by index
MAX_LINES = 5_000  # of each value as lines
EXCERPT, BEFORE = 300, 30  # characters of a long text that are shown, and those before the first difference
BYTES = 16  # shown from the first difference on


class FieldDifference(NamedTuple):
    """A field that differs, such as `value.order.items[2]` or `header source`. `before` and `after` hold its value, and
    are empty where the record has no such field; `texts` are both values for people."""

    field: str
    before: tuple[Json, ...]
    after: tuple[Json, ...]
    texts: tuple[str, str]

    def as_json(self) -> Json:
        """`{"field", "before", "after"}`, without the side that has no such field."""
        sides = {"before": self.before, "after": self.after}
        return {"field": self.field, **{side: value[0] for side, value in sides.items() if value}}


ABSENT = "(none)"


def differences(first: DecodedRecord, second: DecodedRecord) -> list[FieldDifference]:
    """The differences of key, headers and value. The order of the keys of objects and numbers such as 1 and 1.0 do not
    count."""
    fields = list(_parts("key", first.key, first.record.key, second.key, second.record.key))
    names = dict.fromkeys(name for record in (first, second) for name, _ in record.headers)
    for name in names:
        before, after = ([part.value for at, part in record.headers if at == name] for record in (first, second))
        fields += _headers(f"header {name}", before, after)
    return fields + list(_parts("value", first.value, first.record.value, second.value, second.record.value))


def lines(first: Decoded, second: Decoded) -> list[str]:
    """All lines of two values as a unified diff: those of the first begin with `-`, of the second with `+`, common ones
    with a blank. The keys of objects are sorted."""
    sides = [_text(part).splitlines()[:MAX_LINES] for part in (first, second)]
    if sides[0] == sides[1]:
        return [f" {line}" for line in sides[0]]
    return list(unified_diff(sides[0], sides[1], n=MAX_LINES, lineterm=""))[3:]  # without its head


def _text(part: Decoded) -> str:
    if part.is_structured:
        return exact_json.dumps(part.value, indent=2, ensure_ascii=False, sort_keys=True)
    return part.line


def _parts(
    field: str, before: Decoded, before_bytes: bytes | None, after: Decoded, after_bytes: bytes | None
) -> Iterator[FieldDifference]:
    if "bytes" in (before.form, after.form) and before_bytes != after_bytes:
        yield FieldDifference(field, (before.value,), (after.value,), _of_bytes(before_bytes, after_bytes))
    else:
        yield from _compared(field, before.value, after.value)


def _of_bytes(before: bytes | None, after: bytes | None) -> tuple[str, str]:
    """Both values as hexadecimal, from the line with the first difference on."""
    if before is None or after is None:
        return shown(before, ByteView.HEX, BYTES), shown(after, ByteView.HEX, BYTES)
    start = _common(before, after) // 8 * 8
    texts = (" ".join(f"{byte:02x}" for byte in side[start : start + BYTES]) for side in (before, after))
    first, second = (f"at {start}: {text}" if start else text for text in texts)
    return first, second


def _common(before: Sequence[Any], after: Sequence[Any]) -> int:
    """The length of the common beginning."""
    shorter = min(len(before), len(after))
    return next((place for place in range(shorter) if before[place] != after[place]), shorter)


def _headers(field: str, before: list[Json], after: list[Json]) -> Iterator[FieldDifference]:
    """The values of the headers of one name; most have a single one."""
    if len(before) == len(after) == 1:
        yield from _compared(field, before[0], after[0])
    elif not before or not after:
        yield from (_difference(field, (value,), ()) for value in before)
        yield from (_difference(field, (), (value,)) for value in after)
    else:
        yield from _arrays(field, before, after)


def _compared(field: str, before: Json, after: Json) -> Iterator[FieldDifference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            sides = [(side[key],) if key in side else () for side in (before, after)]
            if all(sides):
                yield from _compared(f"{field}.{key}", before[key], after[key])
            else:
                yield _difference(f"{field}.{key}", *sides)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _arrays(field, before, after)
    elif isinstance(before, bool) is not isinstance(after, bool) or before != after:
        yield _difference(field, (before,), (after,))


def _arrays(field: str, before: list[Json], after: list[Json]) -> Iterator[FieldDifference]:
    """Arrays with equal items aligned, so that an inserted item is one difference. The index of an item that only the
    first array has is that in the first."""
    for tag, start, end, other_start, other_end in _aligned(before, after):
        if tag == "equal":
            continue
        common = min(end - start, other_end - other_start)
        for step in range(common):
            yield from _compared(f"{field}[{other_start + step}]", before[start + step], after[other_start + step])
        for place in range(start + common, end):
            yield _difference(f"{field}[{place}]", (before[place],), ())
        for place in range(other_start + common, other_end):
            yield _difference(f"{field}[{place}]", (), (after[place],))


def _aligned(before: list[Json], after: list[Json]) -> Sequence[tuple[str, int, int, int, int]]:
    if len(before) == len(after) or max(len(before), len(after)) > MAX_ALIGNED:
        return [("replace", 0, len(before), 0, len(after))]
    first, second = ([exact_json.dumps(item, sort_keys=True) for item in side] for side in (before, after))
    return SequenceMatcher(None, first, second, autojunk=False).get_opcodes()


def _difference(field: str, before: tuple[Json, ...], after: tuple[Json, ...]) -> FieldDifference:
    texts = [_shown(side[0]) if side else ABSENT for side in (before, after)]
    if before and after and max(map(len, texts)) > EXCERPT:
        start = max(0, _common(texts[0], texts[1]) - BEFORE)
        texts = [("…" if start else "") + text[start:] for text in texts]
    first, second = (text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…" for text in texts)
    return FieldDifference(field, before, after, (first, second))


def _shown(value: Json) -> str:
    return exact_json.dumps(value, ensure_ascii=False)

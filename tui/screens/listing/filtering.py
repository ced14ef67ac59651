"""The filter: terms such as `state:failed config:connection.url~db7 lag>1000 name` must all match; `-` before a term
negates it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from tui.config.secrets import hides
from tui.formatting import did_you_mean
from tui.model import SEVERITY, Connector
from tui.screens.listing.ordering import NO_FACTS, ListFacts

Test = Callable[[Connector], bool | None]  # None: unknown, so that neither the term nor its negation matches
TOPIC_KEYS = ("topics", "topics.regex", "topic", "kafka.topic")


def topics_of(connector: Connector) -> list[str]:
    """The topics that the config of a connector names, or their regular expression."""
    texts = [connector.config[key] for key in TOPIC_KEYS if key in connector.config]
    return [topic for text in texts for topic in text.replace(",", " ").split()]


FIELDS: dict[str, Callable[[Connector], str]] = {
    "state": lambda connector: connector.overall,
    "type": lambda connector: connector.type,
    "class": lambda connector: connector.cls,
    "worker": lambda connector: " ".join({connector.worker, *(task.worker for task in connector.tasks)}),
    "name": lambda connector: connector.name,
    "topic": lambda connector: " ".join(topics_of(connector)),
    "task.state": lambda connector: " ".join(sorted({task.state for task in connector.tasks})),
}
CONFIG = "config"
_WORDS: dict[str, tuple[str, ...]] = {
    "state": tuple(state.lower() for state in SEVERITY),
    "task.state": tuple(state.lower() for state in SEVERITY),
    "type": ("source", "sink"),
}
"""The values of the fields that have no others, apart from those of newer workers."""
_MEASURE = re.compile(r"(lag|rate|since|tasks|failed)([<>])([0-9.]*)([a-z]*)")
_MEASURE_START = re.compile(r"((?:lag|rate|since|tasks|failed)(?=[<>=])|[a-z.]*(?=[<>]))")
_EXAMPLES = {"lag": "1.5k", "rate": "100", "since": "10m", "tasks": "2", "failed": "0"}
_NUMBERS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_TIMES = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
MEASURES = ("lag>", "rate>", "since<", "tasks>", "failed>")


def matcher(text: str, facts: ListFacts = NO_FACTS) -> Callable[[Connector], bool]:
    """A test whether a connector passes the filter. Values match as substrings, case-insensitively."""
    terms = [_term(word, facts) for word in text.lower().split()]
    return lambda connector: all(term(connector) for term in terms)


class FilterNote(NamedTuple):
    """A note about a term: an error (`bad`), or that nothing has the value now (`info`)."""

    text: str = ""
    kind: str = "info"


def note_about(text: str, connectors: Collection[Connector]) -> FilterNote:
    """A note about the first term that does not mean what it looks like; else about the first value that no connector
    has, which is no error, and is what a negated term asks for."""
    words = text.split()
    for word in words:
        if error := _error_in(word.lower().removeprefix("-"), connectors):
            return FilterNote(f"{word.removesuffix(':')}: {error}", "bad")
    for word in words:
        if not word.startswith("-") and (absent := _absent(word.lower(), connectors)):
            return FilterNote(f"{word}: {absent}")
    return FilterNote()


def _error_in(term: str, connectors: Collection[Connector]) -> str:
    field, colon, value = term.partition(":")
    if colon and field == CONFIG:
        return "" if _key(value) else "expected a key, for example config:tasks.max=4"
    if colon and field in FIELDS:
        return _invalid_value(field, value, connectors)
    if any(term in connector.name.lower() for connector in connectors):
        return ""
    if _MEASURE_START.match(term):
        return _misunderstood_measure(term)
    return _not_a("field", field, (*FIELDS, CONFIG)) if colon else ""


def _misunderstood_measure(term: str) -> str:
    measure, name = _MEASURE.fullmatch(term), re.split("[<>=]", term)[0]
    if name and name not in _EXAMPLES:
        return _not_a("measure", name, _EXAMPLES)
    if not name:
        return "expected a measure without blanks, for example lag>1.5k"
    if measure is None or _limit(measure) is None:
        return f"expected for example {name}<{_EXAMPLES[name]} or {name}>{_EXAMPLES[name]}"
    return ""


def _invalid_value(field: str, value: str, connectors: Collection[Connector]) -> str:
    known = _WORDS.get(field, ())
    if not value:
        return "expected a value" + (f": {', '.join(known)}" if known else "")
    if not known or any(value in word for word in (*known, *_used(field, connectors))):
        return ""
    return _not_a(field.replace(".", " "), value, known)


def _absent(term: str, connectors: Collection[Connector]) -> str:
    field, colon, value = term.partition(":")
    if colon and field == CONFIG:
        keys = {name.lower() for connector in connectors for name in connector.config}
        key = _key(value)
        return "" if key in keys or not keys else _with_similar(f"no connector has the key {key}", key, keys)
    if not colon or field not in FIELDS or field in _WORDS:
        return ""
    used = _used(field, connectors)
    if not used or any(value in word for word in used):
        return ""
    names = used | {word.rpartition(".")[2] for word in used}
    return _with_similar(f"no connector has the {field} {value}", value, names)


def _used(field: str, connectors: Collection[Connector]) -> set[str]:
    return {word for connector in connectors for word in FIELDS[field](connector).lower().split()}


def _key(condition: str) -> str:
    """The key of `KEY~TEXT` or `KEY=VALUE`."""
    return re.split("[~=]", condition)[0]


def _not_a(noun: str, word: str, known: Iterable[str]) -> str:
    return f"{_with_similar(f'{word} is not a {noun}', word, known)}; choose from {', '.join(known)}"


def _with_similar(text: str, word: str, known: Iterable[str]) -> str:
    similar = did_you_mean(word, sorted(known))
    return f"{text} ({similar})" if similar else text


def uses_facts(text: str) -> bool:
    """Whether the result may change although no connector does: with lag, throughput, or time."""
    return any(_MEASURE.match(word.removeprefix("-")) for word in text.lower().split())


def complete(text: str, connectors: Iterable[Connector]) -> list[str]:
    """Complete filters that start with `text`: field names, then values that occur in the connectors."""
    head, _, last = text.rpartition(" ")
    sign = "-" if last.startswith("-") else ""
    field, colon, value = last.removeprefix("-").partition(":")
    if colon and field in FIELDS:
        words = {word for connector in connectors for word in FIELDS[field](connector).split()}
        words_of_field = [
            f"{sign}{field}:{word.lower() if field.endswith('state') else word}" for word in sorted(words) if word
        ]
    elif colon and field == CONFIG and not {"~", "="} & set(value):
        keys = {key for connector in connectors for key in connector.config}
        words_of_field = [f"{sign}{CONFIG}:{key}~" for key in sorted(keys)]
    else:
        words_of_field = [f"{sign}{name}:" for name in (*FIELDS, CONFIG)] + [f"{sign}{name}" for name in MEASURES]
    lines = [f"{head} {word}".lstrip() for word in words_of_field]
    return [line for line in lines if line.lower().startswith(text.lower()) and line != text]


def _term(word: str, facts: ListFacts) -> Callable[[Connector], bool]:
    """A measure that is not complete yet matches everything, and so does its negation."""
    wanted = not (word.startswith("-") and len(word) > 1)
    text = word if wanted else word[1:]
    if (measure := _MEASURE.fullmatch(text)) is None:
        test = _test(text)
    elif (limit := _limit(measure)) is None:
        return lambda connector: True
    else:
        test = _measured(measure, limit, facts)
    return lambda connector: test(connector) is wanted


def _test(word: str) -> Test:
    field, colon, value = word.partition(":")
    if colon and field == CONFIG:
        return _configured(value)
    if not colon or field not in FIELDS:
        field, value = "name", word
    read = FIELDS[field]
    return lambda connector: value in read(connector).lower()


def _configured(text: str) -> Test:
    """`KEY~TEXT`: the value contains it; `KEY=VALUE`: it is the value; `KEY`: there is one. Secrets do not match."""
    key, sign, value = re.fullmatch(r"([^~=]*)([~=]?)(.*)", text).groups()  # type: ignore[union-attr]  # always matches

    def test(connector: Connector) -> bool:
        for name, text in connector.config.items():
            if name.lower() == key:
                is_match = not sign or (value in text.lower() if sign == "~" else value == text.lower())
                return is_match and not (sign and hides(name, text))
        return False

    return test


def _measured(term: re.Match[str], limit: float, facts: ListFacts) -> Test:
    measure, is_more = term[1], term[2] == ">"

    def test(connector: Connector) -> bool | None:
        value = _value(measure, connector, facts)
        return None if value is None else (value > limit if is_more else value < limit)

    return test


def _limit(term: re.Match[str]) -> float | None:
    """The number of a measure in its unit; None if it is not complete yet."""
    units = _TIMES if term[1] == "since" else _NUMBERS
    try:
        return float(term[3]) * units[term[4]]
    except (ValueError, KeyError):
        return None


def _value(measure: str, connector: Connector, facts: ListFacts) -> float | None:
    if measure == "tasks":
        return connector.total
    if measure == "failed":
        return connector.failed + (connector.state == "FAILED")
    if measure == "rate":
        return facts.rates(connector.name, facts.now)
    if measure == "since":
        began = facts.snapshot.since.get(connector.name)
        return None if began is None else facts.now - began
    known = facts.progress.get(connector.name)
    return None if known is None else known.lag

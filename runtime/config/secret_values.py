"""Secret values, which are passwords and all values from config providers: collected, and removed from texts."""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from runtime.api.errors import ConfigError
from runtime.config.jaas.tokens import tokens
from runtime.config.secret_names import HIDDEN, is_password
from runtime.config.url_secrets import secrets_in_url
from runtime.logs.formats import CUT_MARK, GAP_MARK

_T = TypeVar("_T")

MAX_SECRETS = 1_000
"""The most secret values of one connector or task. Configurations with more are refused, since hiding their values
would take too long."""

WORKER = ""
"""The owner of the worker's own secrets; no connector has this name."""

_MAX_SHARED, _LONGEST_SHARED = 100, 32_768  # texts of shared processes, newest last, and their characters

_MIN_LENGTH = 4
"""The least length of a hidden value; shorter values occur everywhere."""

_PIECE_LENGTH = 256
"""Values longer than this are hidden in pieces of this length, which bounds the cost of a search. Half a secret, where
a text was cut, shows less than a piece."""

_JAAS_OPTION = re.compile(r"""([\w.-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s;"']+))""")
_SECRET_OPTION = re.compile(r"password|passwd|secret|token|assertion", re.IGNORECASE)


def passwords(config: Mapping[str, str | None]) -> set[str]:
    """Values of keys that are passwords by their names, and the secret parts of compound values and of URLs."""
    passwords = {k: v for k, v in config.items() if v and is_password(k)}
    parts = (part for k, v in passwords.items() for part in _parts(k.lower(), v))
    return {*passwords.values(), *parts, *(secret for v in config.values() if v for secret in secrets_in_url(v))}


def _parts(key: str, value: str) -> Iterable[str]:
    """Secret parts of a value, since a client may quote the password without the JAAS string, the USER:PASSWORD pair
    or the ID:SECRET pair around it."""
    if key.endswith("sasl.jaas.config"):
        for name, quoted, single, bare in _JAAS_OPTION.findall(value):
            if _SECRET_OPTION.search(name):
                yield from {quoted or single or bare, re.sub(r"\\(.)", r"\1", quoted)}
        yield from _options(value)
    elif key.endswith(("user.info", ".credential")):
        yield value.partition(":")[2]


def _options(jaas: str) -> Iterable[str]:
    """The secret options as clients get them, also of a malformed text."""
    given = list(tokens(jaas))
    for key, sign, value in zip(given, given[1:], given[2:], strict=False):
        if sign.kind == "=" and value.text and _SECRET_OPTION.search(key.text or ""):
            yield value.text


class TooManySecrets(ConfigError):
    """A configuration has more secret values than can be hidden."""


class Secrets:
    """Secret values by owner and part of the owner; scrubs them from texts. Thread-safe.

    A text about one connector is scrubbed of the secrets that its code knows: its own and the worker's. Otherwise
    whoever writes the connector's records, which its errors quote, would see which of them equal other secrets.

    Values of a part's previous configuration stay hidden until the next change, since stopping tasks may quote them.
    All values of an owner are removed with the owner.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # reentrant: the garbage collector may run code inside that logs
        self._owners: dict[str, dict[str, tuple[frozenset[str], frozenset[str]]]] = {}
        self._index = _Index()  # of all owners
        self._indices: dict[str, _Index] = {}
        self._shared: deque[str] = deque(maxlen=_MAX_SHARED)

    def keep(self, owner: str, values: Iterable[str], part: str = "") -> None:
        """Replace the part's values. TooManySecrets if there are more than MAX_SECRETS."""
        forms = _forms(values)
        with self._lock:
            parts = self._owners.setdefault(owner, {})
            now, before = parts.get(part, (frozenset(), frozenset()))
            if forms != now:
                for index in (self._index, self._indices.setdefault(owner, _Index())):
                    index.add(forms)
                    index.remove(before)
                parts[part] = forms, now

    def forget(self, owner: str) -> None:
        """Remove all values of an owner."""
        with self._lock:
            self._indices.pop(owner, None)
            for both in self._owners.pop(owner, {}).values():
                for forms in both:
                    self._index.remove(forms)

    def scrub(self, text: str) -> str:
        """The text with all secrets hidden."""
        with self._lock:
            spans = self._index.spans(text)
        return _hidden(text, spans) if spans else text

    def scrub_of(self, owner: str, text: str) -> str:
        """A text about this owner with its secrets and the worker's hidden, and within it the texts of processes that
        owners share with all secrets hidden."""
        for shared in [*self._shared]:
            if shared in text:
                text = text.replace(shared, self.scrub(shared))
        with self._lock:
            indices = [index for name in (owner, WORKER) if (index := self._indices.get(name)) is not None]
            spans = [span for index in indices for span in index.spans(text)]
        return _hidden(text, spans) if spans else text

    def share(self, text: str) -> None:
        """This text, which the errors of an owner may quote, can have the secrets of others."""
        if text:
            self._shared.append(text[:_LONGEST_SHARED])


def scrubber(values: Iterable[str]) -> Callable[[str], str]:
    """Hides only these values, which are not kept."""
    index = _Index()
    index.add(_forms(values))

    def scrub(text: str) -> str:
        spans = index.spans(text)
        return _hidden(text, spans) if spans else text

    return scrub


class CallSecrets:
    """Secrets of running calls, to hide them in the called process's output until shortly after the
    call. Event loop only."""

    LINGER_SECONDS = 2.0  # seconds, since output during a call is read a little later
    MAX_CALLS = 100

    def __init__(self, secrets: Secrets, max_calls: int = MAX_CALLS) -> None:
        self._max_calls = max_calls
        self._secrets, self._calls = secrets, Secrets()
        self._numbers = itertools.count()
        self._open: dict[str, None] = {}  # oldest first

    @contextmanager
    def during(self, values: Collection[str]) -> Iterator[None]:
        """These values are hidden while the block runs. TooManySecrets as for Secrets.keep()."""
        if not values:
            yield
            return
        call = str(next(self._numbers))
        self._calls.keep(call, values)
        self._open[call] = None
        if len(self._open) > self._max_calls:
            self._end(next(iter(self._open)))
        try:
            yield
        finally:
            asyncio.get_running_loop().call_later(self.LINGER_SECONDS, self._end, call)

    def scrub(self, text: str) -> str:
        """The line that a called process has printed, with secrets hidden."""
        return self._secrets.scrub(self._calls.scrub(text))

    def _end(self, call: str) -> None:
        self._open.pop(call, None)
        self._calls.forget(call)


def _forms(values: Iterable[str]) -> frozenset[str]:
    """The values, their trimmed form and their lines, in pieces."""
    forms: set[str] = set()
    for value in values:
        forms.update(form for form in (value, value.strip(), *value.splitlines()) if len(form) >= _MIN_LENGTH)
        if len(forms) > MAX_SECRETS:
            raise TooManySecrets(f"More than {MAX_SECRETS:,} secret values cannot be kept out of logs")
    return frozenset(piece for form in forms for piece in _pieces(form))


def _pieces(form: str) -> Iterable[str]:
    if len(form) <= _PIECE_LENGTH:
        return (form,)
    return (
        *(form[i : i + _PIECE_LENGTH] for i in range(0, len(form) - _PIECE_LENGTH, _PIECE_LENGTH)),
        form[-_PIECE_LENGTH:],
    )


class _Index:
    """Finds any number of values in a text in one pass."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lengths: dict[str, Counter[int]] = {}  # by the first characters of a value
        self._descending: dict[str, list[int]] = {}  # the same lengths, sorted when first needed

    def add(self, forms: Iterable[str]) -> None:
        for form in forms:
            start = form[:_MIN_LENGTH]
            self._lengths.setdefault(start, Counter())[len(form)] += 1
            self._descending.pop(start, None)
            self._counts[form] += 1  # last: spans() may run between these lines, and finds the length of each form

    def remove(self, forms: Iterable[str]) -> None:
        for form in forms:
            start = form[:_MIN_LENGTH]
            _decrease(self._counts, form)
            _decrease(self._lengths[start], len(form))
            if not self._lengths[start]:
                del self._lengths[start]
            self._descending.pop(start, None)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each value found; the longest if several start at the same position."""
        if len(self._counts) < len(text) // 16:  # few values: searching for each is faster
            starts = {i for form in self._counts for i in _occurrences(text, form)}
        else:
            starts = {i for i in range(len(text)) if text[i : i + _MIN_LENGTH] in self._lengths}
        spans = []
        for i in starts:
            for n in self._sorted(text[i : i + _MIN_LENGTH]):
                if (candidate := text[i : i + n]) in self._counts:
                    spans.append((i, i + len(candidate)))  # the candidate is shorter at the end of the text
                    break
        return [*spans, *_beside_cuts(text)] if self._counts else spans

    def _sorted(self, start: str) -> list[int]:
        if start not in self._descending:
            self._descending[start] = sorted(self._lengths[start], reverse=True)
        return self._descending[start]


def _decrease(counter: Counter[_T], key: _T) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


def _occurrences(text: str, form: str) -> Iterable[int]:
    at = text.find(form)
    while at >= 0:
        yield at
        at = text.find(form, at + 1)


def _beside_cuts(text: str) -> Iterable[tuple[int, int]]:
    """Where a text was cut before secrets were hidden in it, there may be half of one, which no search finds."""
    for at in _occurrences(text, CUT_MARK):
        yield max(at - _PIECE_LENGTH, 0), at
        if text.startswith(GAP_MARK, at):
            yield (end := at + len(GAP_MARK)), min(end + _PIECE_LENGTH, len(text))


def _hidden(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with these spans hidden; overlapping and adjacent spans become one."""
    pieces, at = [], 0
    start, end = -1, -1
    for begin, finish in [*sorted(spans), (len(text) + 1, 0)]:
        if begin <= end:
            end = max(end, finish)
            continue
        if end >= 0:
            pieces += [text[at:start], HIDDEN]
            at = end
        start, end = begin, finish
    return "".join([*pieces, text[at:]])

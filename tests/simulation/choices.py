"""The random choices of a run's requests and faults. Each has a name (`a3`: the third request for connector a) and
random numbers of its own, so that it stays the same in a run without the others (shrink.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from random import Random


class Choices:
    """Numbers the requests and faults of one run; `only` these are carried out, None: all."""

    def __init__(self, seed: int, only: Collection[str] | None = None) -> None:
        self._seed, self._only = seed, None if only is None else frozenset(only)
        self._counts: Counter[str] = Counter()
        self.names: list[str] = []
        """All so far, also those that are not carried out."""

    def next(self, source: str) -> tuple[Random, bool]:
        """The random numbers of the source's next request or fault, and whether it is carried out."""
        self._counts[source] += 1
        name = f"{source}{self._counts[source]}"
        self.names.append(name)
        return self.random(name), self._only is None or name in self._only

    def random(self, name: str) -> Random:
        """Random numbers that depend on nothing but the seed and this name."""
        return Random(f"{self._seed}/{name}")

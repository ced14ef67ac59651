"""Marked connectors of one cluster: by name, so that no refresh, sort or filter changes what is marked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator


class Marks(Collection[str]):
    """Those of a connector that is gone are gone too: another one of its name was never marked."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def toggle(self, name: str) -> None:
        self._names ^= {name}

    def toggle_all(self, names: Iterable[str]) -> None:
        """Marks all of them; when they all were, none."""
        wanted = set(names)
        self._names = self._names - wanted if wanted <= self._names else self._names | wanted

    def clear(self) -> None:
        self._names.clear()

    def forget(self, gone: Iterable[str]) -> None:
        self._names.difference_update(gone)

"""The marked connectors of one cluster, by name, so that refreshing, sorting and filtering keep the marks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator


class Marks(Collection[str]):
    """The mark of a deleted connector is removed, so that a new connector of the same name is not marked."""

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
        """Marks all names; if all are marked already, removes their marks."""
        wanted = set(names)
        self._names = self._names - wanted if wanted <= self._names else self._names | wanted

    def clear(self) -> None:
        self._names.clear()

    def forget(self, deleted: Iterable[str]) -> None:
        """Removes the marks of deleted connectors."""
        self._names.difference_update(deleted)

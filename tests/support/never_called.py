"""A stand-in for services that a test passes on but never calls: any attribute exists, and every call fails."""

from __future__ import annotations

from typing import Any


class _NeverCalled:
    def __getattr__(self, name: str) -> _NeverCalled:
        return self

    def __call__(self, *args: object, **kwargs: object) -> None:
        raise AssertionError("no handler should run in this test")


NEVER_CALLED: Any = _NeverCalled()

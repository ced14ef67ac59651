"""A stand-in for services of which a test needs the shape only: any attribute exists, and no call is allowed."""

from __future__ import annotations

from typing import Any


class _NeverCalled:
    def __getattr__(self, name: str) -> _NeverCalled:
        return self

    def __call__(self, *args: object, **kwargs: object) -> None:
        raise AssertionError("no handler should run in this test")


NEVER_CALLED: Any = _NeverCalled()

"""The check of worker URLs."""

from __future__ import annotations

from urllib.parse import urlsplit

from tui.errors import UsageError


def check_url(url: str) -> None:
    """Raises UsageError if the URL cannot be a worker's."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise UsageError(f"{url!r} is not the URL of a Connect worker", "use a URL like http://host:8083")

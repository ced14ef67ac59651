"""The check and the comparison of worker URLs."""

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


def address(url: str) -> tuple[str, str, int | None, str]:
    """Scheme, host, port and path: the same for all spellings of a valid URL, with or without user and final slash."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname or "", port, parts.path.rstrip("/")

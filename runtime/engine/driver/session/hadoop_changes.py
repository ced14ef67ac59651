"""Changes of Hadoop's file systems, many of which report a failure by their result alone; here it is an OSError, after
which the read or write is tried again."""

from __future__ import annotations

from typing import Any


def rename(fs: Any, source: Any, target: Any) -> None:
    """Rename a file; nothing is at the target."""
    if not fs.rename(source, target):
        raise OSError(f"Cannot rename {source.toString()} to {target.toString()}")


def delete(fs: Any, path: Any, recursive: bool = False) -> None:
    """Delete a file, or a folder with its content, if it exists."""
    if not fs.delete(path, recursive) and fs.exists(path):
        raise OSError(f"Cannot delete {path.toString()}")


def create_folder(fs: Any, path: Any) -> None:
    """Create a folder with its parents."""
    if not fs.mkdirs(path):
        raise OSError(f"Cannot create the folder {path.toString()}")

"""The formats of files: their names, extensions and compressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from runtime.api.config.types import invalid


class FileFormat(StrEnum):
    """The format of a file."""

    PARQUET = "parquet"
    JSON = "json"
    CSV = "csv"
    AVRO = "avro"


COMPRESSIONS: Mapping[FileFormat, Sequence[str]] = {
    FileFormat.PARQUET: ("snappy", "zstd", "gzip", "lz4", "brotli", "none"),
    FileFormat.JSON: ("none", "gzip", "zstd", "bz2", "lz4"),
    FileFormat.CSV: ("none", "gzip", "zstd", "bz2", "lz4"),
    FileFormat.AVRO: ("deflate", "bzip2", "xz", "none"),
}
"""The compressions of each format, the default first."""

_EXTENSIONS = {
    FileFormat.PARQUET: (".parquet", ".pq"),
    FileFormat.JSON: (".json", ".jsonl", ".ndjson"),
    FileFormat.CSV: (".csv", ".tsv"),
    FileFormat.AVRO: (".avro",),
}
_SUFFIXES = {"gzip": ".gz", "zstd": ".zst", "bz2": ".bz2", "lz4": ".lz4"}
_STREAM_COMPRESSIONS = {suffix: name for name, suffix in _SUFFIXES.items()}


def extension(file_format: FileFormat, compression: str) -> str:
    """The extension of written files: `.parquet`, `.json.gz`."""
    compressed = file_format in (FileFormat.JSON, FileFormat.CSV)
    return _EXTENSIONS[file_format][0] + (_SUFFIXES.get(compression, "") if compressed else "")


def compression_of(path: str) -> str | None:
    """The compression of a whole file, as its name shows: `gzip` for `.gz`; None if it has none."""
    return next((name for suffix, name in _STREAM_COMPRESSIONS.items() if path.lower().endswith(suffix)), None)


def format_of(path: str) -> FileFormat | None:
    """The format that the name of a file shows; None if it shows none."""
    name = _uncompressed(path)
    return next((kind for kind, endings in _EXTENSIONS.items() if name.endswith(endings)), None)


def has_tabs(path: str) -> bool:
    """Whether the name of a file of CSV shows that its fields are separated by tabs."""
    return _uncompressed(path).endswith(".tsv")


def _uncompressed(path: str) -> str:
    """The path in small letters, without the extension of a compression."""
    name = path.lower()
    for suffix in _STREAM_COMPRESSIONS:
        name = name.removesuffix(suffix)
    return name


def known_compression(name: str, value: Any) -> None:
    """Validator: a compression of any format, or empty for the default of the format."""
    known = sorted({compression for compressions in COMPRESSIONS.values() for compression in compressions})
    if value and value not in known:
        raise invalid(name, value, f"String must be one of: {', '.join(known)}")


def one_character(name: str, value: Any) -> None:
    """A validator: the value is one character."""
    if value is None or len(value) != 1:
        raise invalid(name, value, "Must be one character")

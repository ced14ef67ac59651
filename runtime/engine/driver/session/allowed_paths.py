"""`headrace.file.paths` when Spark opens files: links may have changed since the configuration was checked, and a slot
on another machine may name any path.

Spark opens files by their names, so that a link which is swapped between the check and the opening is followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from runtime.connectors.spark.local_paths import local_path, local_paths
from runtime.system.allowed_folders import allowed_folders


def check_paths(request: Mapping[str, Any]) -> None:
    """OutsideError if the target or source of a request has a local path outside of the allowed folders."""
    place = request.get("target") or request.get("source") or {}
    config = {f"spark.{key}": place.get(key) or "" for key in ("path", "checkpoint", "table")}
    config.update({f"spark.option.{key}": value for key, value in place.get("options", {}).items()})
    for _, path in local_paths(config):
        allowed_folders().check(path)


def check_files(frame: Any) -> None:
    """OutsideError if the files that a DataFrame reads are outside of the allowed folders, through a link in the
    folder of the source. Spark does not name the files of a batch of a stream."""
    if not allowed_folders().are_limited:
        return
    for file in frame.inputFiles():
        if (path := local_path(file)) is not None:
            allowed_folders().check(unquote(path))

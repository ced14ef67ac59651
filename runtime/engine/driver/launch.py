"""The body of the Spark task of a slot on a cluster, which is sent as code: executors need no Headrace of their own.

Imports nothing but Python's library and Spark until the archive of the code has been put on the path. Spark downloads
and unpacks the archive once for each executor.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable


def launch(archive: str, rows: Iterable[str]) -> None:
    """Run a slot with the code in `archive`. The only row has its settings and its token, as JSON: unlike this
    function, rows are sent with the task over Spark's RPC, and never stored."""
    from pyspark import SparkFiles

    row = json.loads(next(iter(rows)))
    sys.path.insert(0, SparkFiles.get(archive))
    from runtime.engine.slot.remote import serve_remote  # its code is in the archive

    serve_remote(row["settings"], row["token"])

"""The folders of `spark.local.dir`, where a JVM that is killed leaves its blocks: each JVM of a worker has folders of
its own in them, which are removed when it has ended, or by the next worker if this one was killed too."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from runtime.config.properties import comma_separated
from runtime.system.process_folder import remove_orphans

_LOCAL = "spark.local.dir"


class LocalFolders:
    """Those of one JVM; none if the operator has not set the property: Spark then uses the folder of the JVM."""

    def __init__(self, conf: Mapping[str, str], worker_folder: str, suffix: str = "") -> None:
        """`conf`: the operator's properties. `worker_folder`: its name identifies the worker's process."""
        self._parents = [Path(folder) for folder in comma_separated(conf.get(_LOCAL, ""))]
        self._own = [Path(parent, Path(worker_folder).name + suffix) for parent in self._parents]
        self.conf = {**conf, **({_LOCAL: ",".join(map(str, self._own))} if self._own else {})}
        """The properties with these folders."""

    def remove(self) -> None:
        """Remove them, and those of workers that have been killed."""
        for folder in self._own:
            shutil.rmtree(folder, ignore_errors=True)
        for parent in self._parents:
            remove_orphans(parent)

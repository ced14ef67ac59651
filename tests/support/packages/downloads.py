"""Downloads what the tests need and this machine does not have yet: jars, connectors and Debian packages.

`make test` runs it beside the first tests, which are those of the conformance suite. Whatever fails here fails again in
the tests that need it, which report it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from runtime.embedded.broker import broker
from runtime.java.install.errors import InstallError
from runtime.java.jvm import jars
from runtime.java.jvm.errors import JvmError
from runtime.java.jvm.java import find_java
from tests.support.java.connect_jars import connect_jars
from tests.support.java.connectors import MAIN, plugin_path
from tests.support.packages.debian import PackageMissing
from tests.support.servers import mariadb, postgres, s3_server


def main() -> None:
    steps: tuple[Callable[[], object], ...] = (
        lambda: jars.fetch("broker", broker.BROKER, find_java()),
        connect_jars,
        partial(plugin_path, *MAIN),
        s3_server.jar,
        postgres.programs,
        mariadb.program,
    )
    for step in steps:
        try:
            step()
        except (JvmError, InstallError, PackageMissing) as error:
            print(f"tests.support.packages.downloads: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()

"""What Java's connectors and tasks have in common: their version, and their end."""

from __future__ import annotations

import contextlib

from runtime.java.errors import HostLostError
from runtime.java.host.host import PluginObject


class StartedPlugin:
    """A connector or a task."""

    plugin: PluginObject

    def version(self) -> str:
        return self.plugin.version or "undefined"

    def stop(self) -> None:
        """A plugin whose JVM has ended has nothing to release."""
        try:
            with contextlib.suppress(HostLostError):
                self.plugin.call("stop")
        finally:
            self.plugin.close()

"""The Java side of a plugin host: one task host JVM, which starts when the first Java plugin is used."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from runtime.api.connector import Connector
from runtime.api.errors import ConnectError
from runtime.host.settings import HostSettings
from runtime.java.discovery.java_plugin import UNDEFINED
from runtime.java.errors import CallTimeoutError, HostLostError
from runtime.java.host.class_names import ClassNames
from runtime.java.host.deadline import limited
from runtime.java.host.process import JvmEnd
from runtime.java.plugins.recognition import is_java_connector
from runtime.plugins.catalog import PluginCatalog
from runtime.plugins.java_plugins import remember_versions
from runtime.plugins.plugin import Plugin

if TYPE_CHECKING:
    from runtime.java.host.host import JavaHost
    from runtime.java.host.process import JvmSettings
    from runtime.java.plugins.classes import JavaClasses

_log = logging.getLogger(__name__)

_MARGIN = 0.9
"""The part of the worker's time limit after which a call into the JVM is interrupted. The worker ends the whole host
when its limit has passed."""

_JAVA_LEVELS = {"ALL": "TRACE"}  # the JVM has no further levels

# Its code runs once or twice, mostly when a worker starts and all processors are busy: half of the processor time until
# thirty connectors are validated was Java's second compiler.
_JVM = ("-XX:TieredStopAtLevel=1",)

_VERSION_TIMEOUT = 10.0  # seconds that a class has for reporting its version

_MAX_STUCK = 7  # calls that may ignore interrupts, since their JVM's connectors start again when it is replaced

_HEALTHY_AFTER = 10.0
"""Seconds of running after which the end of the JVM no longer counts as early."""

_DELAYS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds before the end of the JVM is reported, by the number of consecutive early ends."""


class HostJava:
    """Without Java plugins this imports nothing and starts nothing. Thread-safe."""

    def __init__(self, settings: HostSettings, names: Callable[[], ClassNames], on_end: Callable[[str], None]) -> None:
        """`names` are the classes that plugins may load by name. `on_end` is called with the reason when the JVM has
        ended; its objects are lost."""
        self._settings, self._names, self._on_end = settings, names, on_end
        self._preparing, self._sharing, self._shared = threading.Lock(), threading.Lock(), False
        self._levels: Mapping[str, str] = {}
        self._started, self._early = 0.0, 0
        self._jvm: JvmSettings | None = None

    def load(self, target: str, kind: str) -> type:
        """A class of the JVM, as JavaClasses.load()."""
        return self.classes().load(target, kind)

    def with_versions(self, catalog: PluginCatalog) -> PluginCatalog:
        """The catalog with the versions that only classes themselves know, which are kept for later scans. Classes of
        which no instance can be created are left out, as by Apache's worker."""
        versions = {plugin.target: self._version(plugin) for plugin in catalog.plugins if not plugin.certain}
        known = {target: version for target, version in versions.items() if version != ""}
        remember_versions(known)
        plugins = [
            replace(plugin, version=known.get(plugin.target) or plugin.version, certain=plugin.target in known)
            for plugin in catalog.plugins
            if plugin.certain or known.get(plugin.target, "") is not None
        ]
        return replace(catalog, plugins=tuple(plugins))

    def _version(self, plugin: Plugin) -> str | None:
        """What the class reports; None if an instance cannot be created, empty if that is unknown."""
        try:
            with limited(_VERSION_TIMEOUT):
                return self.classes().version(plugin.target, plugin.kinds[0]) or UNDEFINED
        except (HostLostError, CallTimeoutError) as error:
            _log.warning("plugin.path: the version of %s is unknown: %s", plugin.cls, error)
            return ""
        except Exception as error:  # of the class's constructor
            _log.error("plugin.path: %s is not a plugin, since it cannot be created: %s", plugin.cls, error)
            return None

    def classes(self) -> JavaClasses:
        """The classes of this process's task host, which is also the one of previews."""
        from runtime.java.host.host import JavaHost
        from runtime.java.host.watch import HostWatch
        from runtime.java.plugins.shared_host import java_classes, share

        with self._sharing:
            if not self._shared:
                host = JavaHost(self._with_names, self._ended)
                host.set_levels(self._levels)
                HostWatch(host, lambda owners, reason: _replace(host, reason), _MAX_STUCK).start()
                share(host)
                self._shared = True
        return java_classes()

    def prepare(self) -> JvmSettings:
        """Make everything available that the JVM needs: finds Java, downloads Kafka's jars and compiles classes the
        first time, which may take a minute. ConnectError with the remedy."""
        with self._preparing:
            if self._jvm is None:
                from runtime.java.host.install import host_settings
                from runtime.java.jvm.errors import JvmError
                from runtime.java.jvm.java import find_java

                options = (*_JVM, *self._settings.java_options)
                try:
                    self._jvm = host_settings(find_java(), self._settings.java_heap, more=options)
                except JvmError as error:
                    raise ConnectError(f"Java plugins cannot run: {error}") from error
            self._started = time.monotonic()
            return self._jvm

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Set the levels of loggers in the JVM, also in the next one."""
        with self._sharing:
            self._levels = {logger: _JAVA_LEVELS.get(level, level) for logger, level in levels.items()}
            shared = self._shared
        if shared:
            self.classes().host.set_levels(self._levels)

    def _with_names(self) -> JvmSettings:
        return replace(self.prepare(), names=self._names())

    def limit(self) -> AbstractContextManager[None]:
        """Interrupts a call into the JVM that takes longer than the worker waits: it raises CallTimeoutError."""
        return limited(self._settings.call_timeout * _MARGIN)

    def _ended(self, end: JvmEnd, owners: frozenset[int]) -> None:
        """Reports with a delay if the JVM ends again and again, since its connectors are then started again."""
        if end.planned:
            _log.info("%s", end.reason)
        else:
            self._early = self._early + 1 if time.monotonic() - self._started < _HEALTHY_AFTER else 0
            delay = _DELAYS[min(self._early, len(_DELAYS) - 1)]
            threading.Thread(target=self._report, args=(end.reason, delay), name="java-end", daemon=True).start()

    def _report(self, reason: str, delay: float) -> None:
        time.sleep(delay)
        self._on_end(reason)


def _replace(host: JavaHost, reason: str) -> None:
    """Ends the JVMs that get no more objects. Connectors cannot leave them, but start again."""
    for jvm in host.jvms:
        if host.is_retired(jvm):
            jvm.end(JvmEnd(reason, at_fault=True))


def release(connector: Connector) -> None:
    """Release the JVM's object of a Java connector, also while it is being called; nothing for Python connectors."""
    if is_java_connector(connector):
        connector.close()


def is_lost(connector: Connector) -> bool:
    """Whether this is a Java connector whose JVM has ended."""
    return is_java_connector(connector) and connector.lost

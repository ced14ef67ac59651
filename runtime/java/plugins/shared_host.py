"""The task host of this process and its classes: all Java plugins of a process share one JVM."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from runtime.java.host.host import JavaHost

if TYPE_CHECKING:
    from runtime.java.host.process import JvmSettings
    from runtime.java.plugins.classes import JavaClasses


class _Shared:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.host: JavaHost | None = None
        self.classes: JavaClasses | None = None


_shared = _Shared()


def share(host: JavaHost) -> None:
    """Use this host from now on."""
    with _shared.lock:
        _shared.host, _shared.classes = host, None


def java_classes() -> JavaClasses:
    """The classes of the shared host. Without share() it is a host with the default settings and without lease."""
    from runtime.java.plugins.classes import JavaClasses

    with _shared.lock:
        if _shared.host is None:
            _shared.host = JavaHost(_default_settings)
        if _shared.classes is None:
            _shared.classes = JavaClasses(_shared.host)
        return _shared.classes


def release_objects(thread: int, ended: bool = False) -> None:
    """Close all Java objects that a thread has created, as JavaHost.release()."""
    if _shared.host is not None:
        _shared.host.release(thread, ended)


def _default_settings() -> JvmSettings:
    from runtime.java.host.install import host_settings
    from runtime.java.jvm.java import find_java

    return host_settings(find_java())

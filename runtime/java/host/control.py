"""The control link: what plugins in the JVM ask of their contexts, and what they log."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from runtime.java.errors import HostLostError, InvalidFrameError
from runtime.java.host.class_names import ClassNames
from runtime.java.host.link import receive_frame, send_frame
from runtime.java.wire.reader import FrameReader, SchemaReader
from runtime.java.wire.writer import FrameWriter

_log = logging.getLogger(__name__)

ContextCall = Callable[[str, Any], Any]
"""Answers a call of a plugin's context: its name and argument."""

_LEVELS = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40}
_THREADS = 32


def _gone() -> str:
    return "The control link has ended"


class ControlLink:
    """Serves the control link until it ends. Calls run on threads of their own, in the context of the thread that has
    opened the link of the plugin: its log lines belong to the same task.

    Orders to the JVM are sent by a thread of their own, since the JVM may not read."""

    def __init__(self, connection: socket.socket, names: ClassNames, levels: Mapping[str, str]) -> None:
        """`levels` of loggers. HostLostError if the JVM has ended."""
        self._connection = connection
        self._writing = threading.Lock()
        self._ordering = threading.Condition()
        self._orders: dict[tuple[str, int | str], list[int | str]] = {}  # a later one for the same thing replaces it
        self._ended = False
        self._contexts: dict[int, tuple[contextvars.Context, ContextCall]] = {}
        self._pool = ThreadPoolExecutor(_THREADS, "java-context")
        classes = {name: list(targets) for name, targets in names.classes.items()}
        self._send([classes, {location: list(jars) for location, jars in names.jars.items()}])
        for logger, level in levels.items():
            self._send(["level", logger, level])
        threading.Thread(target=self._serve, name="java-control", daemon=True).start()
        threading.Thread(target=self._send_orders, name="java-orders", daemon=True).start()

    def register(self, link: int, call: ContextCall) -> None:
        """Answer the calls of a link, on behalf of this thread."""
        self._contexts[link] = (contextvars.copy_context(), call)

    def forget(self, link: int) -> None:
        """The link has ended."""
        self._contexts.pop(link, None)

    def interrupt(self, link: int) -> None:
        """Interrupt the thread of a link in the JVM. Does not wait."""
        self._order("interrupt", link)

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Set the levels of loggers in the JVM, by name. Does not wait."""
        for logger, level in levels.items():
            self._order("level", logger, level)

    def close(self) -> None:
        """End the link, and with it the JVM."""
        try:
            self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            _log.debug("The control link has already ended")

    def _order(self, name: str, subject: int | str, *arguments: str) -> None:
        with self._ordering:
            self._orders.pop((name, subject), None)
            self._orders[name, subject] = [name, subject, *arguments]
            self._ordering.notify()

    def _send_orders(self) -> None:
        with contextlib.suppress(HostLostError):
            while True:
                with self._ordering:
                    self._ordering.wait_for(lambda: self._orders or self._ended)
                    if self._ended:
                        return
                    orders, self._orders = list(self._orders.values()), {}
                for order in orders:
                    self._send(order)

    def _send(self, message: Any) -> None:
        with self._writing:
            writer = FrameWriter()
            writer.value(message)
            send_frame(self._connection, writer.frame(with_schemas=False), _gone)

    def _serve(self) -> None:
        try:
            while True:
                frame = FrameReader(receive_frame(self._connection, _gone), SchemaReader())
                number, link, name, argument = frame.value()
                if name == "log":
                    self._logged(*argument)
                else:
                    self._pool.submit(self._respond, number, link, name, argument)
        except InvalidFrameError as error:
            _log.error("%s, and is terminated", error)
        except HostLostError:
            _log.debug("The control link has ended")
        except Exception:  # the plugins of this JVM would get no more answers
            _log.exception("The task host JVM has sent an invalid frame and is terminated")
        finally:
            self.close()
            self._pool.shutdown(wait=False)
            self._connection.close()
            with self._ordering:
                self._ended = True
                self._ordering.notify()

    def _respond(self, number: int, link: int, name: str, argument: Any) -> None:
        response = None
        reason: str | None = None
        context, call = self._contexts.get(link, (contextvars.copy_context(), _closed))
        try:
            response = context.copy().run(call, name, argument)
        except Exception as error:
            reason = str(error) or type(error).__name__
        if not number:
            if reason is not None:
                _log.warning("A request of a Java plugin failed: %s: %s", name, reason)
            return
        try:
            self._send(["answer", number, reason, response])
        except HostLostError:
            _log.debug("The JVM has ended before it received a response")

    def _logged(self, level: str, logger: str, message: str | None, link: str | None) -> None:
        context, _ = self._contexts.get(int(link or 0), (contextvars.copy_context(), _closed))
        context.copy().run(logging.getLogger(logger).log, _LEVELS.get(level, logging.INFO), "%s", message)


def _closed(name: str, argument: Any) -> Any:
    raise HostLostError("The plugin is not used any more")

"""The event loop of a simulation: virtual time, and one random number generator that decides every interleaving.

Each simulated process has its own queue of callbacks, which run in asyncio's order. Which process runs next is random.
A frozen process keeps its callbacks; a dead one drops them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any, TypeVar

from tests.simulation.interposed import START

_T = TypeVar("_T")

MAX_CALLBACKS_AT_ONE_TIME = 50_000
"""Callbacks without a step of the clock, after which something spins."""


PROCESS: ContextVar[Process] = ContextVar("PROCESS")


class Spinning(Exception):
    """Callbacks follow each other without time passing."""


class SimHandle:
    """A callback, as asyncio.Handle and asyncio.TimerHandle."""

    __slots__ = ("_at", "args", "callback", "context", "is_cancelled", "process")

    def __init__(
        self, callback: Callable[..., object], args: Any, context: Context, process: Process, at: float = 0.0
    ) -> None:
        self.callback, self.args, self.context, self.process, self._at = callback, args, context, process, at
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True

    def cancelled(self) -> bool:
        return self.is_cancelled

    def when(self) -> float:
        return self._at

    def __repr__(self) -> str:
        return f"{self.callback!r}{self.args!r}"


class Fuse(deque[SimHandle]):
    """The callbacks of a process. After some of them a function is called, before the next one runs."""

    def __init__(self, handles: deque[SimHandle], callbacks: int, strike: SimHandle) -> None:
        super().__init__(handles)
        self._left, self._strike = callbacks, strike

    def popleft(self) -> SimHandle:
        self._left -= 1
        return self._strike if self._left == 0 else super().popleft()


class Process:
    """A simulated operating system process. `skew` is the difference of its wall clock in seconds."""

    def __init__(self, name: str, loop: SimLoop) -> None:
        self.name, self._loop = name, loop
        self.alive = True
        self.frozen = False
        self.skew = 0.0
        self.ready: deque[SimHandle] = deque()
        self.is_active = False  # in the loop's list of processes that have something to run
        self.context = copy_context()
        self.context.run(PROCESS.set, self)
        self.at_end: list[Callable[[], None]] = []

    def spawn(self, work: Coroutine[Any, Any, _T], name: str = "") -> asyncio.Task[_T]:
        """Run a coroutine in this process."""
        return self._loop.create_task(work, name=name, context=self.context.copy())

    def call(self, delay: float, callback: Callable[..., object], *args: object) -> None:
        """Run a function in this process after a delay."""
        self._loop.add_timer(delay, SimHandle(callback, args, self.context.copy(), self))

    def strike(self, callbacks: int, call: Callable[[], None]) -> None:
        """Call a function between two callbacks of this process, after the given number of them."""
        self.ready = Fuse(self.ready, callbacks, SimHandle(call, (), self._loop.world.context, self._loop.world))

    def kill(self) -> None:
        """End the process; nothing of it runs any more."""
        if self.alive:
            self.alive = False
            self.ready.clear()
            for call in self.at_end:
                call()

    def freeze(self, frozen: bool) -> None:
        self.frozen = frozen
        self._loop.activate(self)


_AnyLoop: Any = asyncio.AbstractEventLoop


class SimLoop(_AnyLoop):  # type: ignore[misc]  # a part of its methods
    """What asyncio and the program need of an event loop, without files, sockets and threads."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._draw = self.random.random
        self._now = 0.0
        self._timers: list[tuple[float, int, SimHandle]] = []
        self._sequence = 0
        self._active: list[Process] = []
        self.steps, self._limit = 0, MAX_CALLBACKS_AT_ONE_TIME
        self.tasks: list[asyncio.Task[Any]] = []  # kept: collecting the tasks of dead processes would run their code
        self.errors: list[str] = []
        self.world = Process("world", self)
        self.get_debug = bool  # False, without a call in Python: each future asks

    # clocks

    def time(self) -> float:
        return self._now

    def wall(self) -> float:
        """The wall clock of the running process."""
        process = PROCESS.get(self.world)
        return START + self._now + process.skew

    # scheduling

    def activate(self, process: Process) -> None:
        if process.ready and process.alive and not (process.frozen or process.is_active):
            process.is_active = True
            self._active.append(process)

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> Any:
        context = copy_context() if context is None else context
        process = context.get(PROCESS, self.world)
        handle = SimHandle(callback, args, context, process)
        if process.alive:
            process.ready.append(handle)
            if not process.is_active:
                self.activate(process)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        return self.call_at(self._now + delay if delay > 0 else self._now, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        context = copy_context() if context is None else context
        handle = SimHandle(callback, args, context, context.get(PROCESS, self.world), when)
        self._sequence += 1
        heappush(self._timers, (when, self._sequence, handle))
        return handle

    def add_timer(self, delay: float, handle: SimHandle) -> None:
        self._sequence += 1
        heappush(self._timers, (self._now + delay if delay > 0 else self._now, self._sequence, handle))

    def step(self, until: float = inf) -> bool:
        """Run one callback, or let time pass until the next one. False if there is none before `until`."""
        active = self._active
        while not active:
            if not self._pass_time(until):
                return False
        at = int(self._draw() * len(active)) if len(active) > 1 else 0
        process = active[at]
        ready = process.ready
        runs = ready and process.alive and not process.frozen
        if runs:
            handle = ready.popleft()
        if not (runs and ready):
            process.is_active = False
            del active[at]
        if runs and not handle.is_cancelled:
            self.steps += 1
            if self.steps > self._limit:
                raise Spinning(f"{process.name} runs {handle!r} again and again at {self._now:.3f} s")
            try:
                handle.context.run(handle.callback, *handle.args)
            except Exception as e:
                self.errors.append(f"{process.name}, {handle!r}: {e!r}")
        return True

    def _pass_time(self, until: float) -> bool:
        """Let time pass until the next timer, and queue what it calls. False if there is none before `until`."""
        timers = self._timers
        if not timers or timers[0][0] > until:
            return False
        self._now = now = max(self._now, timers[0][0])
        self._limit = self.steps + MAX_CALLBACKS_AT_ONE_TIME
        while timers and timers[0][0] <= now:
            handle = heappop(timers)[2]
            process = handle.process
            if not handle.is_cancelled and process.alive:
                process.ready.append(handle)
                if not process.is_active:
                    self.activate(process)
        return True

    def run(self, until: float) -> None:
        """Run until this time, or until stop()."""
        self._stopped = False
        asyncio._set_running_loop(self)
        try:
            while not self._stopped and self._now < until:
                if not self.step(until):
                    self._now = until
        finally:
            asyncio._set_running_loop(None)

    def stop(self) -> None:
        self._stopped = True

    def await_result(self, future: concurrent.futures.Future[_T], timeout: float) -> _T:
        """As future.result(), from a callback that stands for another thread: everything else continues meanwhile."""
        until = self._now + timeout
        while not future.done():
            if self._now >= until or not self.step():
                raise concurrent.futures.TimeoutError
        return future.result()

    # futures, tasks and threads

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: Any = None, context: Context | None = None) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, name=name or "task", context=context)
        self.tasks.append(task)
        if len(self.tasks) % 5000 == 0:
            self.tasks = [task for task in self.tasks if not task.done()]
        return task

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> asyncio.Future[Any]:
        """Run a function of another thread, or the coroutine that stands for it in the simulation."""
        future = self.create_future()
        self.call_later(self.random.random() * 0.002, self._execute, future, func, args)
        return future

    def _execute(self, future: asyncio.Future[Any], func: Any, args: Any) -> None:
        try:
            result = func(*args)
        except Exception as e:
            if not future.done():
                future.set_exception(e)
            return
        if inspect.iscoroutine(result):
            self.create_task(result).add_done_callback(lambda done: _copy(done, future))
        elif not future.done():
            future.set_result(result)

    # the rest

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.errors.append(f"{context.get('message')}: {error!r}")


def _copy(done: asyncio.Task[Any], future: asyncio.Future[Any]) -> None:
    if future.done():
        return
    if done.cancelled():
        future.cancel()
    elif (error := done.exception()) is not None:
        future.set_exception(error)
    else:
        future.set_result(done.result())

"""The simulated network: delays, partitions and lost connections between workers, Kafka and clients."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.simulation.loop import PROCESS, SimLoop

_T = TypeVar("_T")

RETRY_DELAY = 0.1
KAFKA, CLIENT = "kafka", "client"
LONGEST = 5.0  # seconds of a message: liveness is judged after less than a minute


class Retriable(Exception):
    """Kafka cannot carry out a request now; the client sends it again."""


@dataclass
class Network:
    """Messages between hosts. A message to a host that is cut off waits until the cut heals, as TCP repeats it."""

    loop: SimLoop
    counts: Counter[str]
    delay: float = 0.002  # mean seconds of a message
    cuts: set[tuple[str, str]] = field(default_factory=set)  # source and target: one way
    loss: float = 0.0  # the share of responses whose connection breaks before they arrive
    _waiting: list[tuple[str, str, Callable[[], None]]] = field(default_factory=list)

    def cut(self, source: str, target: str) -> None:
        self.cuts.add((source, target))

    def heal(self, source: str, target: str) -> None:
        self.cuts.discard((source, target))
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            self.deliver(*one)

    def reaches(self, source: str, target: str) -> bool:
        return (source, target) not in self.cuts

    def latency(self) -> float:
        draw = self.loop.random.random()
        return min(self.delay * (0.25 + draw if draw < 0.97 else 20 * draw), LONGEST)

    def deliver(self, source: str, target: str, call: Callable[[], None]) -> None:
        """Call a function when a message has arrived; the process that sent it may have ended meanwhile."""
        self.loop.world.call(self.latency(), self._arrived, source, target, call)

    def _arrived(self, source: str, target: str, call: Callable[[], None]) -> None:
        if (source, target) in self.cuts:
            self.counts["message held by a partition"] += 1
            self._waiting.append((source, target, call))
        else:
            call()

    def loses(self, what: str) -> bool:
        """Whether the connection breaks on which this is on its way."""
        lost = self.loss > 0 and self.loop.random.random() < self.loss
        self.counts[f"{what} lost"] += lost
        return lost

    async def ask(self, source: str, action: Callable[[], _T], repeated: bool = False) -> _T:
        """The result of an action at Kafka. It happens even if the sender is frozen, dies or gives up meanwhile; an
        exception of the action is Kafka's response. Retriable: the client sends the request again as long as it
        waits, and after a lost response, too: `repeated` actions then happen twice, records of a producer do not
        (they have sequence numbers)."""
        reply: asyncio.Future[_T] = self.loop.create_future()
        process = PROCESS.get(self.loop.world)

        def again() -> None:
            if not reply.done():
                self.deliver(source, KAFKA, served)

        def respond(answer: Any) -> None:
            if not self.loses("response of Kafka"):
                self.deliver(KAFKA, source, lambda: settle(reply, answer))
            elif repeated:
                process.call(RETRY_DELAY, again)
            else:
                process.call(RETRY_DELAY, lambda: self.deliver(source, KAFKA, lambda: respond(answer)))

        def served() -> None:
            try:
                answer: Any = action()
            except Retriable:
                self.deliver(KAFKA, source, lambda: process.call(RETRY_DELAY, again))
                return
            except Exception as e:
                answer = e
            if isinstance(answer, asyncio.Future):
                answer.add_done_callback(lambda done: respond(_of(done)))
            else:
                respond(answer)

        self.deliver(source, KAFKA, served)
        return await reply


def _of(done: asyncio.Future[Any]) -> Any:
    if done.cancelled():
        return ConnectionResetError("replaced by a later request")
    return done.exception() or done.result()


def settle(reply: asyncio.Future[Any], answer: Any) -> None:
    """Set the answer, or the exception, if the reply is still awaited."""
    if reply.done():
        return
    if isinstance(answer, Exception):
        reply.set_exception(answer)
    else:
        reply.set_result(answer)

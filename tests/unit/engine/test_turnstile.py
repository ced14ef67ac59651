from __future__ import annotations

import threading

from runtime.engine.turnstile import Turnstile
from runtime.vocabulary import TaskId


def key(number: int) -> tuple[TaskId, int]:
    return TaskId("x", number), 1


def entered(turnstile: Turnstile, number: int) -> threading.Event:
    done = threading.Event()

    def enter() -> None:
        turnstile.enter(key(number))
        done.set()

    threading.Thread(target=enter, daemon=True).start()
    return done


def test_one_goes_when_another_has_started() -> None:
    turnstile = Turnstile(abreast=2, patience=60)
    turnstile.enter(key(0))
    turnstile.enter(key(1))
    third = entered(turnstile, 2)
    assert not third.wait(0.1)
    turnstile.leave(key(0))
    assert third.wait(10)
    fourth = entered(turnstile, 3)
    turnstile.leave(key(0))
    turnstile.leave(key(9))
    assert not fourth.wait(0.1), "only who is within can leave"
    turnstile.leave(key(1))
    assert fourth.wait(10)


def test_a_start_that_hangs_keeps_nobody_for_long() -> None:
    turnstile = Turnstile(abreast=1, patience=0.1)
    turnstile.enter(key(0))
    assert entered(turnstile, 1).wait(10)

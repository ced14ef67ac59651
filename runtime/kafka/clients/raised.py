"""The error behind an exception of a client's call that serves its callbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from confluent_kafka import KafkaError


def raised_error(exception: Exception) -> KafkaError:
    """The error of a KafkaException, or the fatal error that caused a SystemError; other SystemErrors are raised again.

    confluent-kafka sets the producer's fatal error as the pending exception of the call that finds it, and may call
    callbacks for other events before that call returns. C code fails for the first of them with SystemError, which the
    call then raises."""
    from confluent_kafka import KafkaException

    cause = exception.__cause__ if isinstance(exception, SystemError) else exception
    if not isinstance(cause, KafkaException):
        raise exception
    return cast("KafkaError", cause.args[0])

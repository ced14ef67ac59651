"""The transactions of one source task, on a producer of its own (KIP-618).

A transaction is committed on a second thread, so that the task polls and converts the next records meanwhile. The
producer is never replaced: another one with the same transactional id would fence the task's successor.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from runtime.api.errors import ConnectError
from runtime.kafka.clients.open_clients import admin_client, connect, missing_right
from runtime.kafka.clients.raised import raised_error
from runtime.kafka.denials import denial, is_denial, with_topic
from runtime.model.task_errors import ClientFailedError, TaskLostError
from runtime.pipeline.produce.producers import OF_TOPIC, PURGED, Purpose, SlotProducer, described
from runtime.pipeline.produce.send import lost_topic, send_failure
from runtime.pipeline.task.control import StoppedError
from runtime.pipeline.topic_ids import slot_topic_ids

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from runtime.pipeline.task.broker_wait import BrokerWait
    from runtime.pipeline.task.control import TaskControl

_TIMEOUT = 5.0  # seconds


def without_write(settings: Mapping[str, Any], topics: Collection[str]) -> list[str]:
    """Those of the topics that the principal may not write; all of them if Kafka does not respond. `settings` are a
    producer's. Blocks."""
    from confluent_kafka import KafkaException, TopicCollection
    from confluent_kafka.admin._acl import AclOperation

    denied = []
    with admin_client({k: v for k, v in settings.items() if not k.startswith("transaction")}) as admin:
        asked = admin.describe_topics(
            TopicCollection(list(topics)), include_authorized_operations=True, request_timeout=_TIMEOUT
        )
        for topic, response in asked.items():
            try:
                allowed = response.result().authorized_operations or []
            except KafkaException:  # also without DESCRIBE, which WRITE includes
                allowed = []
            if AclOperation.WRITE not in allowed:
                denied.append(topic)
    return sorted(denied or topics)


def missing_topics(settings: Mapping[str, Any], topics: Collection[str]) -> set[str]:
    """Those of the topics that do not exist; none if Kafka does not respond. `settings` are a producer's. Blocks."""
    ids = slot_topic_ids.ids(settings, topics) or {}
    return {topic for topic, topic_id in ids.items() if topic_id is None}


def transaction_timeout(settings: Mapping[str, Any]) -> float:
    """Seconds after which Kafka aborts a transaction of a producer with these settings."""
    return float(settings.get("transaction.timeout.ms", 60_000)) / 1000


_log = logging.getLogger(__name__)

_TOPIC_CHECKS = 5.0  # seconds until it is checked whether the topics of a transaction that does not end exist
_CALL = 1.0  # seconds of one call of the client; an unfinished call is continued by the next one
_ABORT = 5.0  # seconds that an abort may take; after that the broker or the next task's producer aborts
_LOST_WAIT = 1.0  # seconds until a task whose transaction was aborted by Kafka is started again


class Transactions:
    """At most one transaction is open or being committed. Only for the task's thread."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        control: TaskControl,
        stop_timeout: float,
        purpose: Purpose = Purpose.TRANSACTIONS,
        each_reported: bool = False,
    ) -> None:
        """`settings` of the producer contain its `transactional.id`. A stopping task waits for Kafka for at most
        `stop_timeout` seconds."""
        self._settings, self._control, self._stop_timeout = settings, control, stop_timeout
        self.producer = SlotProducer(settings, purpose, False, each_reported)
        self._commit: Future[None] | None = None
        self._give_up: float | None = None  # when a stopping task stops waiting
        self._closed = False
        self._began = math.inf  # of the last transaction, on the monotonic clock
        self.open = False
        self.topics: set[str] = set()
        """The topics of the last transaction, as the caller adds them."""

    def prepare(self, topic: str, wait: BrokerWait | None = None) -> None:
        """Register the producer: earlier producers with its id are fenced, and their open transaction is aborted.
        `topic` is any topic that the task may describe; `wait` reports that no broker responds. ConnectError if a right
        is missing, ClientFailedError if Kafka refuses for another reason."""
        if wait is not None:
            wait.until(lambda: self._connect(topic), self.producer.log)
        self._complete(self.producer.client.init_transactions)

    def _connect(self, topic: str) -> bool:
        """Whether a broker responds. ConnectError if all refuse the producer."""
        if connect(self.producer.client, topic):
            return True
        self.producer.poll(0)
        if self.producer.fatal is not None:
            raise self.failure(self.producer.fatal)
        return False

    def begin(self) -> None:
        """Start a transaction; only while none is open or being committed."""
        from confluent_kafka import KafkaException

        try:
            self.producer.client.begin_transaction()
        except KafkaException as e:
            failure = self._failure(e.args[0])
            raise failure from failure.__cause__
        self.open, self.topics, self._began = True, set(), time.monotonic()

    def commit(self) -> None:
        """Start to commit the open transaction; see finished()."""
        self._control.check()
        self.open = False
        self._commit = _on_thread(lambda: self._complete(self.producer.client.commit_transaction))

    @property
    def committing(self) -> bool:
        """Whether a commit has been started whose outcome finished() or wait() has not returned yet."""
        return self._commit is not None

    def finished(self) -> bool:
        """Whether a started commit has succeeded, once per commit. Raises the error that ends the task if the commit
        has failed."""
        if self._commit is None or not self._commit.done():
            return False
        return self.wait()

    def wait(self) -> bool:
        """As finished(), after waiting for the outcome; False if no commit was started."""
        commit, self._commit = self._commit, None
        if commit is None:
            return False
        commit.result()
        return True

    def abort(self) -> None:
        """Abort the open transaction. Raises the error that ends the task if that fails."""
        self.open = False
        # Records that are still in the client's queue would be dropped, and the broker refuses to end a transaction of
        # which it has got no record yet (INVALID_TXN_STATE).
        self._complete(self.producer.client.flush)
        self._complete(self.producer.client.abort_transaction)

    def close(self) -> None:
        """Abort the open transaction. If that takes more than a few seconds, the next task's producer does it. A commit
        under way is not continued after its present request: its outcome is known at the next start."""
        from confluent_kafka import KafkaException

        self._closed = True
        if not self.open or self._control.revoked or self.producer.fatal is not None:
            return
        self.open = False
        try:
            self.producer.client.abort_transaction(_ABORT)
        except (KafkaException, SystemError) as e:
            reason = raised_error(e).str()
            _log.warning("The open transaction was not aborted: %s; the task's next start aborts it", reason)

    def _complete(self, call: Callable[[float], None]) -> None:
        """Repeat a call until it succeeds, or fails for good."""
        from confluent_kafka import KafkaException

        warned, missing, next_check = False, set[str](), time.monotonic() + _TOPIC_CHECKS
        while True:
            self._control.check()
            try:
                call(_CALL)
                return
            except (KafkaException, SystemError) as e:
                error = raised_error(e)
                if not error.retriable():
                    failure = self._failure(error)
                    raise failure from failure.__cause__
            self.producer.poll(0)
            if self.producer.fatal is not None:
                raise self.failure(self.producer.fatal)
            if not warned:
                warned = True
                _log.warning(
                    "Kafka has not yet responded to a request of the task's transactional producer: %s", error.str()
                )
            if self.topics and time.monotonic() > next_check:
                missing = self._still_missing(missing)
                next_check = time.monotonic() + _TOPIC_CHECKS
            self._check_stop()

    def _still_missing(self, before: set[str]) -> set[str]:
        """The topics of the transaction that do not exist. Raises the error that ends the task if one of them did not
        `before`, either: the client would wait for a deleted topic without limit. A broker that has just started may
        not know all topics yet."""
        from confluent_kafka import KafkaError

        missing = missing_topics(self._settings, self.topics)
        if deleted := missing & before:
            raise self._lost_topic(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), deleted)
        return missing

    def _lost_topic(self, error: KafkaError, missing: Collection[str]) -> Exception:
        return lost_topic(with_topic(error, " and ".join(sorted(missing))))

    def _check_stop(self) -> None:
        if self._closed or not threading.main_thread().is_alive():
            raise StoppedError  # the interpreter waits for this thread when its main thread has ended
        if not self._control.stopping:
            return
        now = time.monotonic()
        if self._give_up is None:
            self._give_up = now + self._stop_timeout
        if now > self._give_up:
            raise StoppedError

    def _failure(self, error: KafkaError) -> Exception:
        """The exception that ends the task; close() aborts the transaction if that is possible."""
        self.open = error.txn_requires_abort()
        if error.name() == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
            resource = f"transactional id {self._settings['transactional.id']}"
            return ConnectError(denial(self._settings, missing_right(error), resource))
        if error.name() == "INVALID_TRANSACTION_TIMEOUT":
            return ConnectError(
                f"Kafka does not allow transactions of {self._settings.get('transaction.timeout.ms')} ms "
                "(transaction.timeout.ms): its limit is the broker's transaction.max.timeout.ms. With "
                "transaction.boundary=interval, shorten transaction.boundary.interval.ms"
            )
        if is_denial(error):
            denied = " and topic ".join(without_write(self._settings, self.topics) if self.topics else ())
            return send_failure(with_topic(error, denied) if denied else error, self._settings)
        if error.name() in OF_TOPIC and self.topics:
            return self._lost_topic(error, missing_topics(self._settings, self.topics) or self.topics)
        if error.fatal():
            self.producer.fatal = error
            return self.failure(error)
        return self._expired(ClientFailedError(f"its transaction was aborted: {described(error)}", _LOST_WAIT))

    def failure(self, error: KafkaError) -> Exception:
        """The exception that ends the task after an error of its producer, or after the purge of its records."""
        reason = self._abort_reason() if error.name() in PURGED and self.producer.fatal is None else None
        return reason or self._expired(self.producer.failure(error))

    def _abort_reason(self) -> Exception | None:
        """Why the client has discarded the records of the transaction. Only a commit reports it: it cannot succeed."""
        from confluent_kafka import KafkaException

        try:
            if self._commit is not None:
                self.wait()
            else:
                self.producer.client.commit_transaction(_CALL)
        except (ConnectError, TaskLostError) as failure:
            return failure
        except (KafkaException, SystemError) as e:
            error = raised_error(e)
            return self._failure(error) if error.txn_requires_abort() else None
        return None

    def _expired(self, failure: Exception) -> Exception:
        """The exception, with the reason if Kafka aborts transactions as old as the last one: to the client that looks
        like another producer with its transactional id."""
        timeout = transaction_timeout(self._settings)
        if not isinstance(failure, ClientFailedError) or time.monotonic() - self._began < timeout:
            return failure
        return ClientFailedError(
            f"Kafka probably aborted its transaction, whose records were not written within transaction.timeout.ms "
            f"({timeout:g} s): raise the producer's quota or producer.override.transaction.timeout.ms; {failure}",
            failure.wait,
        )


def _on_thread(call: Callable[[], None]) -> Future[None]:
    """The outcome of a call on a thread. The interpreter ends executors before its main thread counts as ended, and a
    daemon thread in a call of the client crashes while the interpreter ends."""
    outcome: Future[None] = Future()

    def run() -> None:
        try:
            call()
        except BaseException as error:  # raised again by the task's thread
            outcome.set_exception(error)
        else:
            outcome.set_result(None)

    threading.Thread(target=run, name="commit").start()
    return outcome

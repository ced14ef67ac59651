"""PostgresCdcSource reads the changes of a PostgreSQL database from its logical replication, as Debezium's events."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from runtime import __version__
from runtime.api.config.definition import ConfigValue
from runtime.api.connector import ExactlyOnceSupport, SourceConnector
from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConnectError, RetriableError
from runtime.api.task import AlteredOffsets, SourceTask
from runtime.connectors.postgres.connection import require_psycopg
from runtime.connectors.postgres.definition import CONFIG_DEF, USER, CdcSettings
from runtime.connectors.postgres.offsets import check_change

if TYPE_CHECKING:
    from runtime.connectors.postgres.reading import ChangeReads

_log = logging.getLogger(__name__)

_CHECK_TIMEOUT = 3  # seconds, since a request to validate a configuration waits for it


class PostgresCdcSourceTask(SourceTask):
    """Reads the snapshot and the stream of one slot."""

    java_name = "headrace.PostgresCdcSourceTask"
    reuses_records = False
    timestamps_are_now = True
    idle_poll = 0.5
    _reads: ChangeReads | None = None

    def start(self, config: Mapping[str, str]) -> None:
        require_psycopg()
        from runtime.connectors.postgres.reading import ChangeReads

        self._reads = ChangeReads(CdcSettings.of(config, CONFIG_DEF), self.context, __version__)

    def poll(self) -> Sequence[SourceRecord] | None:
        assert self._reads is not None
        return self._reads.poll()

    def commit(self) -> None:
        if self._reads is not None:
            self._reads.committed()

    def stop(self) -> None:
        reads, self._reads = self._reads, None
        if reads is not None:
            reads.close()


class PostgresCdcSourceConnector(SourceConnector):
    """One task, since a slot has one reader."""

    java_name = "headrace.PostgresCdcSourceConnector"
    task_class = PostgresCdcSourceTask
    config_def = CONFIG_DEF

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        """With the checks of the server, if it can be reached."""
        values = self.config_def.validate(config)
        if any(value.errors for value in values):
            return values
        by_name = {value.name: value for value in values}
        for option, text in _problems(config):
            by_name[option].errors.append(text)
        return values

    def start(self, config: Mapping[str, str]) -> None:
        require_psycopg()
        self.config_def.parse(config)
        super().start(config)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> bool:
        return True

    def alter_offsets(self, config: Mapping[str, str], offsets: AlteredOffsets) -> bool:
        """What the server has discarded already is checked when the task starts."""
        prefix = CdcSettings.of(config, self.config_def).prefix
        for partition, offset in offsets:
            check_change(prefix, partition, offset)
        return True


def _problems(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Options and errors found on the server; none if it cannot be reached, which the task reports."""
    from dataclasses import replace

    try:
        require_psycopg()
        from runtime.connectors.postgres.session import Session
        from runtime.connectors.postgres.setup import problems

        settings = CdcSettings.of(config, CONFIG_DEF)
        session = Session(replace(settings.server, timeout=_CHECK_TIMEOUT, statement_timeout=_CHECK_TIMEOUT))
        try:
            return [(problem.option, problem.text) for problem in problems(settings, session.query)]
        finally:
            session.close()
    except RetriableError as error:
        _log.info("The configuration was not checked on the server: %s", error)
        return []
    except ConnectError as error:
        return [(USER, str(error))]

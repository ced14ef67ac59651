"""A distributed worker from start to end: REST first, then brokers, group, stores, connectors.

    bind the listener ─ serve REST (503) ─ brokers ─ group ─ storage topics ─ ready ─ control loops ─ tasks
                        └ plugin host, engine: start beside it
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal

import runtime
from runtime.config import WorkerConfig
from runtime.engine.settings import EngineSettings
from runtime.engine.supervisor import Supervisor
from runtime.herder.board import Board
from runtime.herder.events import EventLog
from runtime.herder.fleet import Fleet
from runtime.herder.herder import Herder, TopicTracking
from runtime.herder.offsets import OffsetsDesk
from runtime.herder.tasks import Parts
from runtime.host.client import HostClient
from runtime.kafka.errors import KafkaProblem
from runtime.kafka.groups import Groups
from runtime.kafka.log import KafkaLogs
from runtime.kafka.membership import Membership
from runtime.rest.app import application
from runtime.rest.events import EventStream
from runtime.rest.routes import Services
from runtime.rest.server import RestServer
from runtime.storage.configs import ConfigStore
from runtime.storage.offsets import OffsetStore
from runtime.storage.statuses import StatusStore

log = logging.getLogger(__name__)

"""The rate limits of stored connectors."""

from __future__ import annotations

import logging

from runtime.api.errors import ConfigError
from runtime.config.providers import Providers
from runtime.config.rate_limits import PREFIX, rate_limit_of
from runtime.model.rate_limit import UNLIMITED, RateLimit
from runtime.storage.configs import StoredConnector

_log = logging.getLogger(__name__)


def connector_limit(
    stored: StoredConnector | None, providers: Providers, otherwise: RateLimit = UNLIMITED
) -> RateLimit:
    """The rate limit of all tasks of a connector together; `otherwise` if a config provider does not have a valid
    value."""
    own = {} if stored is None else {key: text for key, text in stored.config.items() if key.startswith(PREFIX)}
    if stored is None or not own:
        return UNLIMITED
    try:
        return rate_limit_of(providers.resolve(own).config)
    except ConfigError as e:
        kept = "without a rate limit" if otherwise == UNLIMITED else "with its last valid rate limit"
        _log.warning("%s runs %s: %s", stored.name, kept, e)
        return otherwise

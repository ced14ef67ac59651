"""The Kafka client's settings of a context, with secrets resolved."""

from __future__ import annotations

from tui.contexts.profiles import Profile
from tui.contexts.secrets import resolved
from tui.errors import HeadraceError

NO_BROKERS_ADVICE = "set them: config set-context NAME --bootstrap-servers HOST:9092, or in contexts.toml"


def client_properties(profile: Profile) -> dict[str, str]:
    """The Kafka client's properties for the brokers of a context; empty if it names none."""
    if not profile.bootstrap:
        return {}
    return {"bootstrap.servers": profile.bootstrap, **resolved(profile.client)}


def no_brokers(profile: Profile) -> HeadraceError:
    """The error for a context that names no brokers."""
    return HeadraceError(f"the context {profile.label} names no brokers", NO_BROKERS_ADVICE)

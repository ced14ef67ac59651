"""The read-only policy of contexts, enforced before a command runs and again in the client."""

from __future__ import annotations

from collections.abc import Callable

from tui.client.calls import ApiCall
from tui.contexts.profiles import Profile
from tui.errors import ReadOnly


def refusal(profile: Profile, action: str) -> str:
    """The reason why the action is refused, naming the option or context; empty if changes are allowed."""
    if not profile.read_only:
        return ""
    if profile.replay:
        return f"{action} refused: a recording is read-only"
    if profile.option_read_only:
        return f"{action} refused: --read-only was given"
    return f"{action} refused: the context {profile.label} is read-only"


def permit(profile: Profile, action: str) -> None:
    """Raises ReadOnly if the profile does not allow changes."""
    if why := refusal(profile, action):
        raise ReadOnly(why)


def guard(profile: Profile) -> Callable[[ApiCall], None]:
    """A guard for `tui.client.client.Connect` that refuses requests which change a read-only cluster."""

    def check(call: ApiCall) -> None:
        if call.changes:
            permit(profile, f"{call.method} {call.path}")

    return check

"""What a context forbids: read-only is enforced before a command runs and again at the client."""

from __future__ import annotations

from collections.abc import Callable

from tui.client import Call
from tui.errors import ReadOnly
from tui.profiles import Profile


def permit(profile: Profile, action: str) -> None:
    """Raises ReadOnly when the profile forbids changes."""
    if profile.read_only:
        raise ReadOnly(f"{action} refused: the context {profile.label} is read-only")


def guard(profile: Profile) -> Callable[[Call], None]:
    """A guard for `tui.client.Connect`: nothing that changes leaves the machine."""

    def check(call: Call) -> None:
        if call.changes:
            permit(profile, f"{call.method} {call.path}")

    return check

"""Tokens of this process, shared by all its Kafka clients: each is fetched once and renewed before it expires."""

from __future__ import annotations

import base64
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.kafka.clients.kerberos import log_in
from runtime.kafka.clients.logins import current
from runtime.kafka.clients.oauth.msk import msk_token
from runtime.kafka.clients.oauth.oauth_settings import OAUTH, PREFIX, URL, OAuthSettings
from runtime.kafka.clients.oauth.token_endpoint import TokenRefused, fetch_token
from runtime.kafka.errors import KafkaProblem

_log = logging.getLogger(__name__)

_SUBJECT = f"{PREFIX}sub.claim.name"
_MARGIN = 1.0  # seconds before its end in which a token is not used any more
_PAUSE = 5.0  # seconds for which a failure is reported without another request
_VALID = re.compile(r"[-A-Za-z0-9_=.~+/]+")


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An access token; times in seconds since the epoch."""

    value: str = field(repr=False)
    principal: str
    fetched: float
    expires: float
    refresh: float


class TokenCache:
    """One token. Its lock is held during a request, so that clients that start together send one, and clients that
    start after a failure get the same error for a while. A valid token is renewed in a thread: kafka-python asks for
    tokens in the thread that sends heartbeats."""

    def __init__(self, text: str, clock: Callable[[], float] = time.time) -> None:
        self._settings, self._clock = OAuthSettings.of(text), clock
        self._lock = threading.Lock()
        self._token: AccessToken | None = None
        self._failure: tuple[float, KafkaProblem] | None = None

    def get(self) -> AccessToken:
        token, now = self._token, self._clock()
        if token is None or now >= token.expires - _MARGIN:
            with self._lock:
                return self._fetched(now)
        if now >= token.refresh and not self._pauses() and self._lock.acquire(blocking=False):
            threading.Thread(target=self._renew, name="kafka-token", daemon=True).start()
        return token

    def _renew(self) -> None:
        try:
            self._fetched(self._clock())
        except KafkaProblem as e:
            _log.warning("The token of the Kafka clients is not renewed yet: %s", e)
        finally:
            self._lock.release()

    def _fetched(self, wanted: float) -> AccessToken:
        """A token that is newer than `wanted`. The caller holds the lock."""
        if self._failure is not None and self._pauses():
            raise type(self._failure[1])(str(self._failure[1]))
        if self._token is None or self._token.fetched < wanted:
            try:
                self._token, self._failure = _new_token(self._settings, self._clock), None
            except KafkaProblem as e:
                self._failure = self._clock(), e
                raise
        return self._token

    def _pauses(self) -> bool:
        if self._failure is None:
            return False
        return 0 <= self._clock() - self._failure[0] < _PAUSE  # negative: the clock was set back


_caches: dict[str, TokenCache] = {}
_caches_lock = threading.Lock()
_MOST = 1000  # settings whose tokens are kept


def token_for(text: str) -> AccessToken:
    """The token for these settings (OAuthSettings.text()). Raises TokenRefused or BrokerUnavailable. Blocks."""
    with _caches_lock:
        if text not in _caches and len(_caches) >= _MOST:
            _caches.clear()
        cache = _caches.setdefault(text, TokenCache(text))
    return cache.get()


def native_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that librdkafka accepts: with current credentials, without ours, and with a callback for tokens where
    OAUTHBEARER is used. Raises as token_for(): without a token, librdkafka's clients say after ten seconds only that it
    is missing. With Kerberos, logs in; raises as kerberos.log_in()."""
    now = current(settings)
    log_in(now)
    native = {key: value for key, value in now.items() if not key.startswith("headrace.")}
    if OAUTH not in now:
        return native
    token_for(now[OAUTH])
    return {**native, "oauth_cb": lambda _: _for_librdkafka(current(settings)[OAUTH])}


def await_token(settings: Mapping[str, Any]) -> None:
    """Raises as token_for() or kerberos.log_in() if the clients with these settings have no token or ticket, of which
    kafka-python says nothing."""
    log_in(current(settings))
    if OAUTH in settings:
        token_for(current(settings)[OAUTH])


def _for_librdkafka(text: str) -> tuple[str, float, str, dict[str, str]]:
    token = token_for(text)
    return token.value, token.expires, token.principal, dict(OAuthSettings.of(text).extensions)


def provider(text: str) -> Any:
    """kafka-python's provider of tokens; its import takes 0.3 seconds."""
    from kafka.net.sasl.oauth import AbstractTokenProvider

    class Provider(AbstractTokenProvider):  # type: ignore[misc]
        def token(self) -> str:
            return token_for(text).value

        def extensions(self) -> dict[str, str]:
            return dict(OAuthSettings.of(text).extensions)

    return Provider()


def _new_token(settings: OAuthSettings, clock: Callable[[], float]) -> AccessToken:
    """Its time is that of the response: clients that have waited for it do not request another one."""
    if settings.msk is None:
        return _checked(settings, fetch_token(settings), clock())
    value, expires = msk_token(settings.msk)  # not a JWT
    now = clock()
    return AccessToken(value, "", now, expires, _refresh(settings, now, expires))


def _checked(settings: OAuthSettings, value: str, now: float) -> AccessToken:
    """As Java's client checks a token: a JWT with a subject that has not expired. Brokers verify its signature."""
    claims = _claims(settings, value)
    subject, expires = claims.get(settings[_SUBJECT]), claims.get("exp")
    if not isinstance(subject, str) or not subject.strip():
        raise TokenRefused(f"the token of {URL}={settings[URL]} has no claim {settings[_SUBJECT]} ({_SUBJECT})")
    if not isinstance(expires, int | float) or expires <= now:
        problem = "has expired" if isinstance(expires, int | float) else "has no claim exp"
        raise TokenRefused(f"the token of {URL}={settings[URL]} {problem}")
    return AccessToken(value, subject.strip(), now, float(expires), _refresh(settings, now, float(expires)))


def _refresh(settings: OAuthSettings, now: float, expires: float) -> float:
    """At 80 % of its life, `buffer` seconds before its end if that is earlier, but not within the first `minimum`
    seconds, unless it is shorter than both together, as in Java."""
    factor = min(max(float(settings["sasl.login.refresh.window.factor"]), 0.5), 1.0)
    buffer, minimum = (float(settings[f"sasl.login.refresh.{name}.seconds"]) for name in ("buffer", "min.period"))
    by_factor = now + (expires - now) * factor
    if expires - now <= buffer + minimum:
        return by_factor
    return max(min(by_factor, expires - buffer), now + minimum)


def _claims(settings: OAuthSettings, value: str) -> Mapping[str, Any]:
    parts = value.split(".")
    try:
        if len(parts) != 3 or not _VALID.fullmatch(value):
            raise ValueError
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        if not isinstance(claims, dict):
            raise TypeError
    except (ValueError, TypeError):
        raise TokenRefused(f"{URL}={settings[URL]} sent a token that is not a JWT") from None
    return claims

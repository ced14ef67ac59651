"""The parameters of connection URLs that drivers may get, and the local files that a URL names.

A driver's parameters can make it read a file and send it to the server (`local_infile`, `passfile`), read its settings
from a file (`service`, `read_default_file`), run statements or load code (`init_command`, `plugin`, `driver`), or
write a file (`sslkeylogfile`). Everything that is not listed here is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from sqlalchemy import URL

from runtime.api.errors import ConfigError


@dataclass(frozen=True, slots=True)
class _Parameters:
    """Names of a driver's parameters; the values of `paths` are local files, folders or sockets."""

    plain: frozenset[str]
    paths: frozenset[str] = frozenset()


def _parameters(plain: str, paths: str = "") -> _Parameters:
    return _Parameters(frozenset(plain.split()), frozenset(paths.split()))


_LIBPQ = _parameters(
    "application_name channel_binding client_encoding connect_timeout fallback_application_name gssencmode host "
    "hostaddr keepalives keepalives_count keepalives_idle keepalives_interval krbsrvname load_balance_hosts options "
    "port require_auth ssl_max_protocol_version ssl_min_protocol_version sslmode sslnegotiation sslpassword sslsni "
    "target_session_attrs tcp_user_timeout",
    "sslcert sslcrl sslcrldir sslkey sslrootcert",
)
_MYSQL = _parameters(
    "charset collation compress connect_timeout max_allowed_packet program_name read_timeout sql_mode "
    "ssl_check_hostname ssl_cipher ssl_disabled ssl_mode ssl_verify_cert ssl_verify_identity use_unicode write_timeout",
    "ssl_ca ssl_capath ssl_cert ssl_key unix_socket",
)
_BY_DRIVER: Mapping[str, _Parameters] = {
    "mariadb": _MYSQL,
    "mssql+pymssql": _parameters("appname charset encryption login_timeout read_only tds_version timeout"),
    "mssql+pyodbc": _parameters(
        "ApplicationIntent Encrypt LoginTimeout MultiSubnetFailover TrustServerCertificate driver timeout"
    ),
    "mysql": _MYSQL,
    "oracle+oracledb": _parameters(
        "expire_time protocol retry_count retry_delay service_name ssl_server_cert_dn ssl_server_dn_match "
        "tcp_connect_timeout",
        "wallet_location",
    ),
    "postgresql+pg8000": _parameters("application_name timeout"),
    "postgresql+psycopg": _LIBPQ,
    "postgresql+psycopg2": _LIBPQ,
    "sqlite": _parameters("cache immutable mode nolock timeout uri"),
}
"""By driver, or by database if all drivers get the same."""

_SESSION = "DateStyle|TimeZone|idle_in_transaction_session_timeout|lock_timeout|search_path|statement_timeout"
_OPTIONS = re.compile(rf"(?:\s*(?:-c\s*|--)(?:{_SESSION})=(?:\\.|[^\s\\])*)*\s*\Z", re.IGNORECASE)
"""PostgreSQL's `options`, which otherwise set any of the server's settings."""

_HOST = re.compile(r"[\w.:%\\-]*\Z")
_OF_FILES = ("sqlite",)
"""Databases without a server."""


def check_parameters(url: URL) -> None:
    """ConfigError for a parameter that its driver may not get; the message has its name, and not its value."""
    known = _known(url)
    for name in url.query:
        if name not in known.plain and name not in known.paths:
            allowed = ", ".join(sorted(known.plain | known.paths)) or "none"
            raise ConfigError(
                f"connection.url has the parameter {name}, which is not allowed for {url.drivername}, since some "
                f"parameters make drivers read files, run statements or load code: remove it. Allowed are: {allowed}"
            )
    if problem := next(_problems(url), None):
        raise ConfigError(f"connection.url {problem}")


def local_paths(url: URL) -> Iterator[str | None]:
    """The local paths that a driver opens for this URL; None if that is unknown."""
    known = _known(url)
    backend = _backend(url)
    if backend in _OF_FILES:
        path = url.database or ""
        path = unquote(urlsplit(path).path) if _is_uri(url) else path
        if path not in ("", ":memory:"):
            yield path
    elif known == _Parameters(frozenset()) and not url.host:
        yield None
    for name in sorted(known.paths & set(url.query)):
        yield from (text for text in _values(url, name) if (name, text) != ("sslrootcert", "system"))
    yield from (host for text in _values(url, "host") for host in text.split(",") if host.startswith(("/", "@")))


def _problems(url: URL) -> Iterator[str]:
    """Values that reach further than their parameters."""
    if not _HOST.match(url.host or ""):
        yield "has an invalid host: use letters, digits, dots and hyphens"
    if any(not _OPTIONS.match(text) for text in _values(url, "options")):
        names = _SESSION.replace("|", ", ")
        yield f"has the parameter options with other settings than {names}: remove them"
    if any("/" in text or "\\" in text for text in _values(url, "driver")):
        yield "has the parameter driver with a path: use the name of an installed ODBC driver"
    if _backend(url) == "oracle" and any(set(text) & set("()") for text in (*_texts(url), url.database or "")):
        yield "has parentheses in the name of a service or in a parameter: remove them"
    if _is_uri(url) and set(url.database or "") & set("?#"):
        yield "has parameters within the name of the file: move them to the end of the URL"


def _known(url: URL) -> _Parameters:
    driver = "mssql+pyodbc" if url.drivername == "mssql" else url.drivername
    return _BY_DRIVER.get(driver) or _BY_DRIVER.get(_backend(url)) or _Parameters(frozenset())


def _backend(url: URL) -> str:
    return url.drivername.partition("+")[0]


def _is_uri(url: URL) -> bool:
    """Whether SQLite gets the file as a URI, in which it decodes %."""
    return _backend(url) == "sqlite" and "uri" in url.query


def _values(url: URL, name: str) -> tuple[str, ...]:
    value = url.query.get(name, ())
    return (value,) if isinstance(value, str) else tuple(value)


def _texts(url: URL) -> Iterator[str]:
    for name in url.query:
        yield from _values(url, name)

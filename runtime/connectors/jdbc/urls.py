"""Connection URLs of JDBC drivers and of SQLAlchemy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from runtime.api.errors import ConfigError
from runtime.connectors.jdbc.url_parameters import check_parameters

_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
    "sqlserver": "mssql+pymssql",
    "oracle": "oracle+oracledb",
}
_PORTS = {"mssql+pymssql": 1433, "oracle+oracledb": 1521}
_LIBPQ = {
    "sslmode", "sslcert", "sslkey", "sslrootcert", "application_name", "options", "connect_timeout",
    "target_session_attrs", "keepalives", "channel_binding", "gssencmode", "load_balance_hosts",
}  # fmt: skip
_LIBPQ_NAMES = {
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
    "loginTimeout": "connect_timeout",
    "targetServerType": "target_session_attrs",
}
_SESSION_ATTRS = {"primary": "primary", "master": "primary", "secondary": "standby", "any": "any"}
_HOST = re.compile(r"(\[[^\]]+\]|[^:/]*)(?::(\d+))?\Z")


def database_url(text: str, user: str | None = None, password: str | None = None) -> URL:
    """The URL for SQLAlchemy; `user` and `password` take precedence over those in the text. ConfigError if the text is
    not a URL, or has a parameter that its driver may not get; messages never repeat the text, which may contain a
    password."""
    url = _of_jdbc(text.strip()) if text.strip().startswith("jdbc:") else _of_sqlalchemy(text.strip())
    check_parameters(url)
    if user:
        url = url.set(username=user)
    return url if password is None else url.set(password=password)


def _of_sqlalchemy(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ConfigError(
            "connection.url is not a URL: use jdbc:postgresql://host:port/database, jdbc:sqlite:/path/file.db or a URL "
            "of SQLAlchemy"
        ) from None
    driver = _DRIVERS.get(url.drivername)
    return url if driver is None else url.set(drivername=driver)


def _of_jdbc(text: str) -> URL:
    kind, _, rest = text.removeprefix("jdbc:").partition(":")
    if kind == "sqlite":
        path = rest.partition("?")[0].removeprefix("file:")
        return URL.create("sqlite", database=path or None)
    driver = _DRIVERS.get(kind)
    if driver is None:
        raise ConfigError(
            f"connection.url has the unknown database type jdbc:{kind}: use one of "
            f"{', '.join(f'jdbc:{name}' for name in ('sqlite', *_DRIVERS))}, or a URL of SQLAlchemy"
        )
    if kind == "sqlserver":
        return _sql_server(driver, rest)
    if kind == "oracle":
        return _oracle(driver, rest)
    return _network(driver, rest)


def _network(driver: str, rest: str) -> URL:
    """`//host:port,host:port/database?key=value` or `database`."""
    place, _, query = rest.partition("?")
    settings = dict(parse_qsl(query))
    user, password = settings.pop("user", None), settings.pop("password", None)
    hosts, database = "", place
    if place.startswith("//"):
        hosts, _, database = place[2:].partition("/")
    addresses = [_host(host) for host in hosts.split(",") if host]
    options = _libpq(settings) if driver.startswith("postgresql") else {}
    single = addresses[0] if len(addresses) == 1 else (None, None)
    if len(addresses) > 1:
        options["host"] = ",".join(host for host, _ in addresses)
        options["port"] = ",".join(str(port or 5432) for _, port in addresses)
    host = single[0] or ("localhost" if len(addresses) <= 1 else None)
    return URL.create(driver, user, password, host, single[1], unquote(database) or None, options)


def _host(text: str) -> tuple[str, int | None]:
    match = _HOST.match(text)
    if match is None:
        raise ConfigError("connection.url has an invalid host or port")
    host, port = match.groups()
    return host.strip("[]"), int(port) if port else None


def _libpq(settings: Mapping[str, str]) -> dict[str, str]:
    """The parameters of PostgreSQL's JDBC driver that its C library has too; others only tune the Java driver."""
    options: dict[str, str] = {}
    for name, value in settings.items():
        if name == "ssl" and value.lower() in ("", "true"):
            options.setdefault("sslmode", "require")
        elif name == "currentSchema":
            options["options"] = f"-csearch_path={value}"
        elif name == "targetServerType":
            options["target_session_attrs"] = _SESSION_ATTRS.get(value, "any")
        elif (known := _LIBPQ_NAMES.get(name, name)) in _LIBPQ:
            options[known] = value
    return options


def _sql_server(driver: str, rest: str) -> URL:
    """`//host:port;databaseName=name;user=name;password=secret`."""
    place, *parts = rest.removeprefix("//").split(";")
    settings = {key.lower(): value for key, _, value in (part.partition("=") for part in parts)}
    host, port = _host(place.partition("\\")[0])
    database = settings.get("databasename") or settings.get("database")
    return URL.create(
        driver, settings.get("user"), settings.get("password"), host or "localhost", port or _PORTS[driver], database
    )


def _oracle(driver: str, rest: str) -> URL:
    """`thin:@//host:port/service` or `thin:@host:port:sid`."""
    place = rest.partition("@")[2].removeprefix("//")
    place, _, service = place.partition("/")
    host, _, port = place.partition(":")
    port, _, sid = port.partition(":")
    if not host or (port and not port.isdigit()) or not (service or sid):
        raise ConfigError("connection.url of an Oracle database needs the form jdbc:oracle:thin:@//host:port/service")
    query = {"service_name": service} if service else {}
    return URL.create(driver, None, None, host, int(port or _PORTS[driver]), sid or None, query)

"""JDBC URLs and SQLAlchemy URLs."""

from __future__ import annotations

import pytest

from runtime.api.errors import ConfigError
from runtime.connectors.jdbc.urls import database_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jdbc:postgresql://db:5433/shop", "postgresql+psycopg://db:5433/shop"),
        ("jdbc:postgresql:shop", "postgresql+psycopg://localhost/shop"),
        ("jdbc:postgresql://[::1]:5433/shop", "postgresql+psycopg://[::1]:5433/shop"),
        ("jdbc:postgresql://a:1,b/shop", "postgresql+psycopg:///shop?host=a%2Cb&port=1%2C5432"),
        ("jdbc:postgresql://db/shop?user=me&password=a%40b", "postgresql+psycopg://me:a%40b@db/shop"),
        ("jdbc:postgresql://db/shop?ssl=true&prepareThreshold=0", "postgresql+psycopg://db/shop?sslmode=require"),
        ("jdbc:postgresql://db/shop?currentSchema=x", "postgresql+psycopg://db/shop?options=-csearch_path%3Dx"),
        ("jdbc:sqlite:/var/shop.db", "sqlite:////var/shop.db"),
        ("jdbc:sqlite:shop.db", "sqlite:///shop.db"),
        ("jdbc:mysql://db:3307/shop", "mysql+pymysql://db:3307/shop"),
        ("jdbc:sqlserver://db;databaseName=shop;user=me", "mssql+pymssql://me@db:1433/shop"),
        ("jdbc:oracle:thin:@//db:1522/shop", "oracle+oracledb://db:1522?service_name=shop"),
        ("jdbc:oracle:thin:@db:1522:shop", "oracle+oracledb://db:1522/shop"),
        ("postgresql://me:secret@db/shop", "postgresql+psycopg://me:secret@db/shop"),
        ("sqlite:////var/shop.db", "sqlite:////var/shop.db"),
    ],
)
def test_urls(text: str, expected: str) -> None:
    assert database_url(text).render_as_string(hide_password=False) == expected


def test_user_and_password_take_precedence() -> None:
    url = database_url("postgresql://me:old@db/shop", "you", "n/e:w")
    assert (url.username, url.password) == ("you", "n/e:w")


@pytest.mark.parametrize(
    "text", ["jdbc:db2://db/secret-name", "no url secret-name", "jdbc:postgresql://db:port:secret-name/x"]
)
def test_errors_do_not_repeat_the_url(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        database_url(text)
    assert "connection.url" in str(raised.value)
    assert "secret-name" not in str(raised.value)

"""READ: secrets in configurations are masked under whatever key and in whatever form they are written."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.definitions.render import describe
from runtime.herder.configs.password_keys import PasswordKeys
from runtime.plugins.registry import PluginRegistry

REGISTRY = PluginRegistry()
SECRET = "S3cretOfAConnector"


async def described(cls: str) -> list[dict[str, Any]]:
    plugin = REGISTRY.find(cls)
    assert plugin is not None
    return describe(plugin, REGISTRY.load_class(plugin))


@pytest.mark.parametrize(
    ("connector", "key", "value"),
    [
        ("headrace.HttpSinkConnector", "http.header.X-Api-Key", "{}"),
        ("headrace.HttpSinkConnector", "http.header.X-Auth-Token", "{}"),
        ("headrace.HttpSinkConnector", "http.url", "https://me:{}@host/path"),
        ("headrace.HttpSourceConnector", "http.url", "https://host/path?access_token={}"),
        ("headrace.SparkSinkConnector", "spark.option.sfToken", "{}"),
        ("headrace.SparkSinkConnector", "spark.option.pem_private_key", "{}"),
        ("headrace.SparkSinkConnector", "spark.option.fs.azure.account.key.x.dfs.core.windows.net", "{}"),
        ("headrace.SparkSourceConnector", "spark.option.url", "jdbc:mysql://host/d?user=me&password={}"),
        ("headrace.JdbcSourceConnector", "connection.url", "postgresql://me:{}@host/d"),
        ("headrace.JdbcSinkConnector", "connection.url", "jdbc:sqlserver://host;user=me;password={}"),
        ("headrace.DataSourceConnector", "data.source.option.token", "{}"),
        ("headrace.DataSourceConnector", "data.source.option.PWD", "{}"),
        ("headrace.DataSourceConnector", "data.source.option.url", "https://host?sig={}"),
        ("headrace.FilesSinkConnector", "url", "sftp://me:{}@host/folder"),
        ("FileStreamSink", "free.credential", "{}"),
        ("FileStreamSink", "consumer.override.ssl.truststore.certificates", "{}"),
        ("FileStreamSink", "consumer.override.sasl.jaas.config", 'x required username="${env:U}" password="{}";'),
        ("FileStreamSink", "transforms.token.Api-Key", "{}"),
    ],
)  # fmt: skip
async def test_secrets_in_free_form_keys_and_urls(connector: str, key: str, value: str) -> None:
    keys = PasswordKeys(described)
    config = {"connector.class": connector, "name": "c", "topics": "t", key: value.replace("{}", SECRET)}
    shown = await keys.masked(config)
    assert SECRET not in str(shown) and "[hidden]" in shown[key]
    assert {name: text for name, text in shown.items() if name != key} == {n: t for n, t in config.items() if n != key}
    assert any(SECRET in text for text in await keys.values(config)), "logs and traces show the secret"

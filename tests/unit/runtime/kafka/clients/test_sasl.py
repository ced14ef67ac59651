"""Login modules and their options become settings of both Kafka clients; what has no equivalent is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from runtime.kafka.clients import kerberos
from runtime.kafka.clients.kerberos import KerberosLogin
from runtime.kafka.clients.oauth.tokens import native_settings
from runtime.kafka.clients.settings import client_config, kafka_python_config
from runtime.kafka.errors import ClientConfigError

KAFKA = "org.apache.kafka.common.security"
PLAIN = f"{KAFKA}.plain.PlainLoginModule required"
USER = 'username="me" password="p;w"'


def settings(jaas: str | None, mechanism: str = "PLAIN", **more: str) -> dict[str, Any]:
    java = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, **more}
    return client_config(java if jaas is None else {**java, "sasl.jaas.config": jaas}, "admin").settings


@pytest.fixture(autouse=True)
def no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_OPTS", raising=False)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("module", ["plain.PlainLoginModule", "scram.ScramLoginModule"])
def test_passwords(mechanism: str, module: str) -> None:
    translated = settings(
        f"{KAFKA}.{module} required username='me' /* in single quotes */ password=\"p;w\";", mechanism
    )
    assert (translated["sasl.username"], translated["sasl.password"]) == ("me", "p;w")
    python = kafka_python_config({"bootstrap.servers": "x:1", **translated})
    assert python["sasl_mechanism"] == mechanism
    assert (python["sasl_plain_username"], python["sasl_plain_password"]) == ("me", "p;w")
    AdminClient({**native_settings(translated), "bootstrap.servers": "localhost:1", "log_level": 0})


def test_user_names_of_scram_are_escaped_for_the_client_that_does_not() -> None:
    """RFC 5802, section 5.1; librdkafka does it itself."""
    translated = settings(f'{KAFKA}.scram.ScramLoginModule required username="a=b,c" password="p=w,";', "SCRAM-SHA-256")
    assert translated["sasl.username"] == "a=b,c"
    python = kafka_python_config({"bootstrap.servers": "x:1", **translated})
    assert (python["sasl_plain_username"], python["sasl_plain_password"]) == ("a=3Db=2Cc", "p=w,")


@pytest.mark.parametrize("place", ["headrace.jaas.file", "KAFKA_OPTS", "a URL in KAFKA_OPTS"])
def test_the_entry_kafka_client_of_a_file(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kafka jaas.conf"
    file.write_text(f'// of all clients\nKafkaClient {{\n  {PLAIN}\n  username="me" password="${{pw}};w";\n}};\n')
    named = {"headrace.jaas.file": str(file)} if place == "headrace.jaas.file" else {}
    url = file.as_uri() if "URL" in place else str(file)
    option = "" if named else f"'-Djava.security.auth.login.config={url}'"
    monkeypatch.setenv("KAFKA_OPTS", f"-Xmx1g {option} -Dpw=p")
    assert settings(None, **named)["sasl.password"] == "p;w"
    own = settings(f'{PLAIN} username="other" password="x";', **named)
    assert own["sasl.username"] == "other"
    connector = {"producer.override.security.protocol": "SASL_PLAINTEXT", "producer.override.sasl.mechanism": "PLAIN"}
    assert client_config(named, "producer", connector).settings["sasl.username"] == "me"


@pytest.mark.parametrize("value", [f"{PLAIN} {USER};", ""])
def test_without_sasl_nothing_is_read(value: str) -> None:
    java = {"security.protocol": "PLAINTEXT", "sasl.jaas.config": value, "sasl.mechanism": "unknown"}
    assert client_config(java, "admin") == client_config({"security.protocol": "PLAINTEXT"}, "admin")


@pytest.mark.parametrize(
    "jaas, mechanism, message",
    [
        (None, "PLAIN", "needs sasl.jaas.config: it is not set, and neither headrace.jaas.file nor -Djava.security"),
        (f"{PLAIN} {USER}", "PLAIN", "sasl.jaas.config: JAAS config entry not terminated by semi-colon"),
        (f"{PLAIN} username=1a;", "PLAIN", "sasl.jaas.config: Value not specified for key 'username' in JAAS config"),
        (f"{PLAIN} {USER}; {PLAIN} {USER};", "PLAIN", "contains 2 login modules, should be 1 module"),
        (f"{PLAIN} username=me;", "PLAIN", "sasl.jaas.config lacks the option password"),
        (f"{KAFKA}.scram.ScramLoginModule required {USER} tokenauth=true;", "SCRAM-SHA-256", "delegation tokens"),
        (f"{PLAIN} {USER};", "SCRAM-SHA-1", "sasl.mechanism=SCRAM-SHA-1 is not supported: use one of PLAIN, SCRAM"),
        (f"{PLAIN} {USER};", "OAUTHBEARER", "PlainLoginModule, which is not supported for sasl.mechanism=OAUTHBEARER"),
        ("com.example.Mine required;", "PLAIN", "names the login module com.example.Mine, which is not supported"),
        (
            "software.amazon.msk.auth.iam.IAMLoginModule required;", "AWS_MSK_IAM",
            "sasl.mechanism=AWS_MSK_IAM needs the Python package aws-msk-iam-sasl-signer-python: pip install",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(jaas: str | None, mechanism: str, message: str) -> None:
    with pytest.raises(ClientConfigError, match=re.escape(message)) as error:
        settings(jaas, mechanism)
    assert "p;w" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "key", ["sasl.login.class", "sasl.login.callback.handler.class", "sasl.client.callback.handler.class"]
)
def test_java_classes_that_authenticate_are_refused(key: str) -> None:
    with pytest.raises(ClientConfigError, match=rf"{re.escape(key)}=com.example.Mine is not supported"):
        settings(f"{PLAIN} {USER};", **{key: "com.example.Mine"})


@pytest.mark.parametrize(
    "text, message",
    [
        ("Other { a.B required; };", "has no entry KafkaClient"),
        ("KafkaClient { a.B required; c.D required; };", "the entry KafkaClient has 2 login modules"),
        ("KafkaClient { a.B required;", r"expected a login module, found the end"),
        ("KafkaClient { a.B required x='y'; };", r"expected the value of x, found '"),
    ],
)
def test_files_that_cannot_be_used(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "jaas"
    file.write_text(text)
    with pytest.raises(ClientConfigError, match=message) as error:
        settings(None, **{"headrace.jaas.file": str(file)})
    assert str(file) in str(error.value)
    with pytest.raises(ClientConfigError, match=r"headrace\.jaas\.file=/none: cannot read the file"):
        settings(None, **{"headrace.jaas.file": "/none"})


KERBEROS = "com.sun.security.auth.module.Krb5LoginModule required"


def test_kerberos_without_its_libraries_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of them is in the wheels."""
    monkeypatch.setattr(kerberos, "find_spec", lambda name: None)
    kerberos._missing.cache_clear()
    with pytest.raises(ClientConfigError, match=r"sasl\.mechanism=GSSAPI needs .*pip install 'headrace\[kerberos\]'"):
        settings(f"{KERBEROS} useTicketCache=true serviceName=kafka;", "GSSAPI")
    kerberos._missing.cache_clear()


def test_kerberos_with_a_key_table_or_a_ticket_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kerberos, "_missing", tuple)
    keytab = tmp_path / "k"
    keytab.touch()
    options = f'useKeyTab=true keyTab="{keytab}"'
    table = settings(f'{KERBEROS} {options} principal="me@R" serviceName=kafka;', "GSSAPI")
    assert KerberosLogin.of(table["headrace.kerberos"]) == KerberosLogin("me@R", str(keytab))
    assert table["sasl.kerberos.min.time.before.relogin"] == 0, "librdkafka calls no kinit"
    with pytest.raises(ClientConfigError, match="lacks the option principal"):
        settings(f"{KERBEROS} {options} serviceName=kafka;", "GSSAPI")
    with pytest.raises(ClientConfigError, match="keyTab=/no/k cannot be read"):
        settings(f'{KERBEROS} useKeyTab=true keyTab="/no/k" principal="me@R" serviceName=kafka;', "GSSAPI")
    named = f'{KERBEROS} useTicketCache=true ticketCache="/tmp/c";'
    cache = settings(named, "GSSAPI", **{"sasl.kerberos.service.name": "k"})
    assert KerberosLogin.of(cache["headrace.kerberos"]) == KerberosLogin(cache="/tmp/c")
    with pytest.raises(ClientConfigError, match=r"needs sasl\.kerberos\.service\.name"):
        settings(f"{KERBEROS} useTicketCache=true;", "GSSAPI")

"""Secret values: hidden in any number, removed with their owner, and limited in number."""

from __future__ import annotations

import time

import pytest

from runtime.config.secret_names import HIDDEN
from runtime.config.secret_values import MAX_SECRETS, CallSecrets, Secrets, TooManySecrets, _Index, passwords, scrubber
from tests.support.interrupted import runs_inside

JAAS = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" '
    'password="pass\\"word" clientSecret=bare-secret;'
)


def test_whole_secrets_and_their_lines_are_scrubbed_starting_with_the_longest() -> None:
    secrets = Secrets()
    secrets.keep("c", ["hunter2", "hunter2-long", "abc", "first line\nsecond line\n"])
    assert secrets.scrub("hunter2-long hunter2 abc") == "[hidden] [hidden] abc"
    assert secrets.scrub("a second line of it") == "a [hidden] of it"
    assert secrets.scrub("xhunter2hunter2-longx") == "x[hidden]x"


def test_overlapping_secrets_are_both_hidden() -> None:
    secrets = Secrets()
    secrets.keep("c", ["abcdef", "defghi"])
    assert secrets.scrub("<abcdefghi>") == "<[hidden]>"


def test_lines_that_the_collector_logs_meanwhile_are_scrubbed() -> None:
    secrets = Secrets()
    secrets.keep("a", ["first-secret"])
    scrubbed: set[str] = set()

    def log() -> None:
        scrubbed.add(secrets.scrub("first-secret second-secret"))

    assert runs_inside(log, Secrets.keep, lambda: secrets.keep("b", ["second-secret"]))
    assert runs_inside(log, _Index.add, lambda: secrets.keep("b", ["third-secret", "second-secret-2"]))
    assert runs_inside(log, _Index.remove, lambda: secrets.forget("b"))
    assert scrubbed and all(text.startswith("[hidden] ") for text in scrubbed)


def test_secrets_are_removed_with_their_owner_and_survive_one_change() -> None:
    secrets = Secrets()
    secrets.keep("a", ["first-secret", "shared-secret"])
    secrets.keep("b", ["shared-secret"])
    secrets.keep("a", ["second-secret"])
    assert secrets.scrub("first-secret second-secret") == "[hidden] [hidden]", "tasks may still quote the old value"
    secrets.keep("a", ["third-secret"])
    assert secrets.scrub("first-secret") == "first-secret"
    secrets.forget("a")
    assert secrets.scrub("third-secret shared-secret") == "third-secret [hidden]"
    secrets.forget("b")
    assert secrets.scrub("shared-secret") == "shared-secret"


def test_the_number_of_secrets_of_an_owner_is_bounded() -> None:
    secrets = Secrets()
    with pytest.raises(TooManySecrets):
        secrets.keep("c", [f"value-{i}" for i in range(MAX_SECRETS + 1)])
    with pytest.raises(TooManySecrets):
        secrets.keep("c", ["\n".join(f"line-{i}" for i in range(MAX_SECRETS + 1))])
    assert secrets.scrub("value-1") == "value-1"


@pytest.mark.parametrize("text", ["a" * 20_000, "x" * 20_000, "value-7 " * 2_500])
def test_many_and_long_secrets_do_not_slow_a_line_down(text: str) -> None:
    secrets = Secrets()
    for owner in range(50):
        secrets.keep(f"c{owner}", [f"value-{owner}-{i}" for i in range(900)])
    secrets.keep("long", ["a" * 1_900_000, *("a" * n for n in range(4, 256))])
    started = time.thread_time()
    scrubbed = secrets.scrub(text)
    assert time.thread_time() - started < 1.0
    assert "aaaa" not in scrubbed


def test_a_long_secret_is_hidden_completely() -> None:
    secrets = Secrets()
    key = "".join(f"{i:05d}" for i in range(700))
    secrets.keep("c", [key])
    assert secrets.scrub(f"<{key}>") == f"<{HIDDEN}>"


def test_values_of_calls_are_hidden_and_not_kept() -> None:
    secrets = Secrets()
    secrets.keep("c", ["kept-secret"])
    scrub = scrubber(["passing-secret"])
    assert scrub("kept-secret passing-secret") == "kept-secret [hidden]"
    assert secrets.scrub("kept-secret passing-secret") == "[hidden] passing-secret"


async def test_the_number_of_running_calls_with_values_is_limited() -> None:
    passing = CallSecrets(Secrets(), max_calls=2)
    with passing.during(["first-secret"]), passing.during(["second-secret"]), passing.during(["third-secret"]):
        assert passing.scrub("first-secret second-secret third-secret") == "first-secret [hidden] [hidden]"


def test_passwords_are_recognized_by_name() -> None:
    config = {
        "ssl.key.password": "b",
        "connection.password": "c",
        "user": "d",
        "password.file": "e",
        "basic.auth.user.info": "user:info-secret",
    }
    assert passwords(config) == {"b", "c", "user:info-secret", "info-secret"}


def test_the_secret_parts_of_a_jaas_string_are_secrets_too() -> None:
    found = passwords({"producer.override.sasl.jaas.config": JAAS})
    assert {'pass\\"word', 'pass"word', "bare-secret"} <= found
    assert "alice" not in found
    assert {"a-b\tc", "d-e-f"} <= passwords(
        {"sasl.jaas.config": "x.Y required password='a-b\\tc' secret /**/ = d-e-f;"}
    )


@pytest.mark.parametrize("key", ["token", "credential", "s3.secret-access-key", "header.x-token"])
def test_secrets_of_catalogs_are_passwords(key: str) -> None:
    assert "very-secret" in passwords({f"spark.sql.catalog.lake.{key}": "very-secret"})


def test_the_secret_of_a_credential_is_one_by_itself() -> None:
    assert passwords({"spark.sql.catalog.lake.credential": "id:very-secret"}) == {"id:very-secret", "very-secret"}


@pytest.mark.parametrize("key", ["uri", "token-refresh-enabled", "warehouse", "oauth2-server-uri"])
def test_other_properties_of_catalogs_are_shown(key: str) -> None:
    assert passwords({f"spark.sql.catalog.lake.{key}": "shown"}) == set()

"""Diff and promotion from Apache's worker to ours by keys, undo of delete on both, and changes whose page is left."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.support.broker import KafkaBroker
from tests.support.console.console import Console, console
from tests.support.console.delaying_proxy import DelayingProxy
from tests.support.servers.forwarder import Forwarder
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster
from tui import session
from tui.contexts.profiles import Profile
from tui.screens.contexts.promote_screen import PromoteScreen


@contextmanager
def context_prod(url: str) -> Iterator[None]:
    """The context `prod`, with a mapping of values."""
    contexts = session.profiles()
    with ExitStack() as stack:
        contexts.put(Profile(url, "prod", production=True))
        stack.callback(contexts.path.unlink)
        mapping = contexts.path.with_name("config.toml")
        mapping.write_text('[promote.prod]\nnames = { "staging-" = "" }\nset = { "tasks.max" = "2" }\n', "utf-8")
        stack.callback(mapping.unlink)
        yield


@pytest.fixture
def prod(ours: Cluster) -> Iterator[Cluster]:
    """Our worker as the context `prod`."""
    with context_prod(ours.url):
        yield ours


def config(cluster: Cluster, name: str) -> dict[str, str]:
    status, answer = cluster.request("GET", f"/connectors/{name}/config")
    return dict(answer) if status == 200 else {}


async def test_diff_then_promote_with_a_failure_half_way(cluster: Cluster, prod: Cluster) -> None:
    names = sorted(cluster.source("staging-orders", state="STOPPED") for _ in range(2))
    first, second = (name.removeprefix("staging-") for name in names)
    prod.made += [first, second, "renamed-" + first]
    async with console(cluster.url, 120, 40) as seen:
        await seen.go(names[0])
        await seen.press("space")
        await seen.go(names[1])
        await seen.press("space", "equals_sign")
        await seen.sees("diff with prod", "2 of 2 differ", "only here", "> promotes it")
        await seen.press("m")
        await seen.sees(f"{names[0]} → {first}", "tasks.max = 2")
        await seen.press("asterisk", "greater_than_sign")
        await seen.sees("2 to create STOPPED", "> promotes", "by [promote.prod] of config.toml")
        await seen.press("e")
        await seen.sees(f"{names[0]} in prod", "no change yet")
        await seen.press("f3", *"errors.tolerance=all", "enter")
        await seen.sees("1 key changed")
        await seen.press("ctrl+s")
        await seen.sees("edited", "+ errors.tolerance = all", "> promotes")
        prod.create(second, {"connector.class": "FileStreamSource", "file": "/x", "topic": "x"}, "STOPPED")
        await seen.press("greater_than_sign")
        await seen.sees("promote 2 connectors to prod?", "Offsets are not copied")
        await seen.confirm("2", "enter")
        await seen.sees("1 of 2 promoted and kept", "> tries the other 1 again", "✓ created STOPPED", "1 to update")
        assert config(prod, first)["tasks.max"] == "2" and config(prod, first)["errors.tolerance"] == "all"
        await seen.press("down", "greater_than_sign")
        await seen.sees("promote 1 connector to prod?")
        await seen.confirm("y")
        await seen.sees("1 connector promoted; o opens prod", "2 unchanged")
        assert config(prod, second)["topic"] == config(cluster, names[1])["topic"]
        lines = [line for one in seen.home.operations.log for line in one.lines]
        assert lines[0] == f"promote {names[0]} --to prod -s errors.tolerance=all"
        await seen.press("o")
        await seen.until(lambda: seen.home.profile.name == "prod", "the other cluster")
        await seen.go(first)


async def delete_and_restore(seen: Console, cluster: Cluster, name: str) -> None:
    offsets = cluster.offsets(name)
    before = config(cluster, name)
    await seen.go(name)
    await seen.press("D")
    await seen.sees("[ ] stop it and reset its committed offsets first (^o)")
    await seen.press("ctrl+o")
    await seen.sees("[x] stop it")
    await seen.confirm(*name, "enter")
    await seen.until(lambda: not config(cluster, name), "the deletion")
    await seen.press("U")
    await seen.sees("deleted connectors", name, "1 offset restored", "before the deletion STOPPED")
    await seen.press("R")
    await seen.sees(f"restore {name}?", "would be recreated as STOPPED", "and 1 offset")
    await seen.confirm("y")
    await seen.until(lambda: seen.home.is_detail and seen.home.view.name_shown == name, "its page")
    assert config(cluster, name) == before
    assert cluster.offsets(name) == offsets


@pytest.mark.parametrize("worker", ["cluster", "ours"])
async def test_undo_of_delete(worker: str, request: pytest.FixtureRequest, broker: KafkaBroker) -> None:
    chosen: Cluster = request.getfixturevalue(worker)
    name = chosen.source("gone")
    chosen.wait(name, "RUNNING 1/1")
    wait_until(lambda: chosen.offsets(name), 60, "offsets")
    chosen.request("PUT", f"/connectors/{name}/stop")
    chosen.wait(name, "STOPPED 0/0")
    async with console(chosen.url, 120, 40, bootstrap=broker.bootstrap) as seen:
        await delete_and_restore(seen, chosen, name)


async def test_an_outage_half_way_through_a_promotion(ours: Cluster) -> None:
    """The answer to the second connector is lost: it was created, and the console cannot know. The third is refused."""
    names = [ours.source("staging-lost", state="STOPPED") for _ in range(4)]
    ours.made += [name.removeprefix("staging-") for name in names]
    async with Forwarder(ours.url) as other, console(ours.url, 120, 40) as seen:
        with context_prod(other.url):
            for name in names:
                await seen.go(name)
                await seen.press("space")
            await seen.press("greater_than_sign")
            await seen.sees("4 to create STOPPED", "> promotes")
            assert isinstance(seen.app.screen, PromoteScreen)
            there = [name.removeprefix("staging-") for name in seen.app.screen.names]
            other.dies_of = there[1].encode()
            await seen.press("greater_than_sign")
            await seen.confirm("4", "enter")
            await seen.sees("1 of 4 promoted and kept", "F5 plans", "not tried")
            assert [bool(config(ours, name)) for name in there] == [True, True, False, False]
            await seen.press("f5")
            await seen.sees("cannot reach")
            await other.revive()
            await seen.press("f5")
            await seen.sees("2 to create STOPPED, 2 unchanged")
            await seen.press("greater_than_sign")
            await seen.confirm("2", "enter")
            await seen.sees("2 connectors promoted; o opens prod", "4 unchanged")
    assert all(config(ours, name)["tasks.max"] == "2" for name in there)


async def test_a_promotion_and_a_restore_continue_if_their_page_is_left(ours: Cluster) -> None:
    name = ours.source("staging-left", state="STOPPED")
    there = name.removeprefix("staging-")
    ours.made.append(there)
    with DelayingProxy(ours.url) as proxy, DelayingProxy(ours.url) as other, context_prod(other.url):
        async with console(proxy.url, 120, 40) as seen:

            async def leave_while_creating(key: str, cluster: DelayingProxy) -> None:
                cluster.hold("POST")
                await seen.press(key)
                await seen.confirm("y")
                await asyncio.to_thread(cluster.wait_held)
                await seen.press("escape")
                await seen.until(lambda: seen.app.screen is seen.home, "the list")
                cluster.release(send=True)

            await seen.go(name)
            await seen.press("greater_than_sign")
            await seen.sees("1 to create STOPPED", "> promotes")
            await leave_while_creating("greater_than_sign", other)
            await seen.sees("1 connector promoted")
            before = config(ours, there)
            ours.request("DELETE", f"/connectors/{there}")
            await seen.press("U")
            await seen.sees("deleted connectors", there, "before the deletion STOPPED")
            await leave_while_creating("R", proxy)
            await seen.sees(f"{there}: recreated as STOPPED")
            assert config(ours, there) == before

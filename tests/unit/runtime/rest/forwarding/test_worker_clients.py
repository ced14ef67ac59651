"""Clients for more workers than have a place among those that are kept."""

from __future__ import annotations

import asyncio

import pytest

from runtime.herder.errors import Unavailable
from runtime.rest.forwarding import worker_clients
from runtime.rest.forwarding.worker_clients import WorkerClients, WorkerRequest
from tests.support.never_called import NEVER_CALLED
from tests.support.waiting import until

REQUEST = WorkerRequest("GET", "/events/own", {})


class Workers:
    """Listeners that respond when the test allows it."""

    def __init__(self) -> None:
        self.may_respond, self.asked = asyncio.Event(), 0

    async def start(self, count: int) -> list[str]:
        """Their URLs."""
        servers = [await asyncio.start_server(self._respond, "127.0.0.1", 0) for _ in range(count)]
        self.servers = servers
        return [f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/" for server in servers]

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        await self.may_respond.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async def are_asked(self, times: int) -> None:
        await until(lambda: self.asked == times)


async def test_requests_in_progress_are_not_broken_off_for_those_to_further_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_clients, "MAX_CLIENTS", 2)
    workers, clients = Workers(), WorkerClients(NEVER_CALLED)
    urls, sent = await workers.start(4), list[asyncio.Task[worker_clients.PeerResponse]]()
    for number, url in enumerate(urls, 1):
        sent.append(asyncio.create_task(clients.send(url, REQUEST)))
        await workers.are_asked(number)
    workers.may_respond.set()
    assert [response.status for response in await asyncio.gather(*sent)] == [200] * 4
    await clients.send(urls[0], REQUEST)
    assert list(clients._clients) == [urls[3], urls[0]], "those used last"
    await clients.close()
    for server in workers.servers:
        server.close()


async def test_a_worker_that_ends_without_a_response_is_reported() -> None:
    async def end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    server, clients = await asyncio.start_server(end, "127.0.0.1", 0), WorkerClients(NEVER_CALLED)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    with pytest.raises(Unavailable, match=r"did not answer: [^.]+[a-z]\. It may have carried out the request"):
        await clients.send(url, REQUEST)
    await clients.close()
    server.close()

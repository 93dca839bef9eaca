"""The explorer's server over real sockets: who is let in, what is answered, and what ends a run."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from explorers import serving
from rectilinear.explore import worker
from rectilinear.explore.messages import Request, answer_run
from rectilinear.explore.page import FILES
from rectilinear.explore.presets import presets
from rectilinear.explore.server import Server
from rectilinear.explore.state import State

QUICK = State(points=((1.0, 0.0, 1.0), (-1.0, 0.1, -1.0)), width=4, until=30.0)
SLOW = next(state for state in presets() if state.depth > 1)
WAIT = 300.0  # seconds within which an answer comes on the busiest machine, compiling included


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def port_of(server: Server) -> int:
    return int(server.listener.getsockname()[1])


def get(server: Server, path: str, **headers: str) -> http.client.HTTPResponse:
    link = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=WAIT)
    try:
        link.request("GET", path, headers=headers)
        response = link.getresponse()
        response.text = response.read().decode()  # type: ignore[attr-defined]
        return response
    finally:
        link.close()


def opened(server: Server, **options: Any) -> ClientConnection:
    port = port_of(server)
    chosen = {"origin": f"http://127.0.0.1:{port}", "proxy": None, **options}
    return connect(f"ws://127.0.0.1:{port}/socket", **chosen)


@contextmanager
def greeted(server: Server) -> Iterator[ClientConnection]:
    with opened(server) as link:
        link.send(json.dumps({"kind": "hello", "token": server.token}))
        assert received(link, "welcome")["presets"]
        yield link


def received(link: ClientConnection, kind: str, number: int | None = None) -> dict[str, Any]:
    """The next message of that kind (and id)."""
    while True:
        message = json.loads(link.recv(timeout=WAIT))
        if message["kind"] == kind and (number is None or message["id"] == number):
            return message


def ask(link: ClientConnection, number: int, state: State = QUICK, final: bool = True) -> None:
    link.send(json.dumps({"kind": "run", "id": number, "state": state.to_json(), "final": final}))


def busy_process(server: Server, number: int) -> int:
    """The process that is at the run of this number, as soon as one is; others may still end what a page that has gone had asked for."""
    began = time.monotonic()
    while True:
        busy = [process for process in server.workers[0].processes if process.client and process.number == number]
        if busy:
            break
        assert time.monotonic() - began < WAIT
        time.sleep(0.01)
    found = busy[0]._process.pid
    assert found is not None
    return found


# --- who is let in ---------------------------------------------------------------------------------------------------


def test_it_listens_on_loopback_and_a_free_port(server: Server) -> None:
    host, port = server.listener.getsockname()
    assert host == "127.0.0.1"
    assert port > 0


def test_the_token_is_in_the_fragment_which_browsers_never_send(server: Server) -> None:
    before, after = server.address.split("#")
    assert server.token not in before
    assert after == f"token={server.token}"
    assert len(server.token) >= 43  # 256 bits


def test_tokens_are_compared_in_constant_time(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(secrets, "compare_digest", compare)
    with greeted(server):
        assert compared == [(server.token.encode(), server.token.encode())]


@pytest.mark.parametrize("hello", [{"token": "wrong"}, {"token": None}, {}, {"token": "é"}])
def test_a_wrong_token_is_refused(server: Server, hello: dict[str, Any]) -> None:
    with opened(server) as link:
        link.send(json.dumps({"kind": "hello", **hello}))
        with pytest.raises(ConnectionClosed) as closed:
            link.recv(timeout=WAIT)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4401


def test_nothing_is_done_before_the_token_is_shown(server: Server) -> None:
    with opened(server) as link:
        ask(link, 1)
        with pytest.raises(ConnectionClosed):
            link.recv(timeout=WAIT)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example:80"])
@pytest.mark.parametrize("path", ["/", "/explorer.js", "/socket", "/nowhere"])
def test_another_host_is_refused_on_every_request(server: Server, host: str, path: str) -> None:
    assert get(server, path, Host=host).status == 421


def test_a_request_without_host_is_refused(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=WAIT) as link:
        link.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert link.recv(100).startswith(b"HTTP/1.1 421 ")


def test_localhost_is_an_own_name(server: Server) -> None:
    assert get(server, "/", Host=f"localhost:{port_of(server)}").status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1", "null"])
def test_a_foreign_origin_is_refused(server: Server, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(server, origin=origin):
        pass
    assert refused.value.response.status_code == 403


def test_a_missing_origin_is_refused(server: Server) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(server, origin=None):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("path", FILES)
def test_headers_forbid_what_a_page_needs_not(server: Server, path: str) -> None:
    response = get(server, path)
    assert response.status == 200
    assert response.headers["Content-Security-Policy"].startswith("default-src 'self'")
    assert "unsafe" not in response.headers["Content-Security-Policy"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["Set-Cookie"] is None
    assert not [name for name in response.headers if name.lower().startswith("access-control")]
    assert server.token not in response.text  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", ["/page.py", "/../server.py", "/%2e%2e/server.py", "/explorer.js?x", "//", "/index.html"])
def test_no_path_leads_to_a_file(server: Server, path: str) -> None:
    assert get(server, path).status == 404


def test_a_message_beyond_the_limit_ends_the_connection(server: Server) -> None:
    with greeted(server) as link:
        link.send("x" * 65_537)
        with pytest.raises(ConnectionClosed) as closed:
            received(link, "never")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        '{"kind": "run", "id": 1, "state": {"points": [[1, 0, 1]], "width": 100000}}',
        '{"kind": "run", "id": 1, "state": {"points": [[1, 0, 1]], "until": 1e300}}',
        '{"kind": "run", "id": 1, "state": {"points": [[1, 0, 1]], "file": "/etc/passwd"}}',
        '{"kind": "run", "id": 1, "seconds": 1e9, "state": {"points": [[1, 0, 1]]}}',
    ],
)
def test_what_is_out_of_bounds_is_refused_and_the_page_may_go_on(server: Server, text: str) -> None:
    with greeted(server) as link:
        link.send(text)
        assert received(link, "error")["text"].endswith(".")
        ask(link, 2)
        assert received(link, "run", 2)["complete"]


# --- what is answered ------------------------------------------------------------------------------------------------


def test_a_request_is_answered_with_run_and_theory(server: Server) -> None:
    with greeted(server) as link:
        ask(link, 5)
        kinds = {json.loads(link.recv(timeout=WAIT))["kind"] for _ in range(2)}
    assert kinds <= {"run", "theory", "ready"}
    assert kinds & {"run", "theory"}


def test_no_answer_waits_until_the_one_before_is_acknowledged(server: Server) -> None:
    with greeted(server) as link:
        (ours,) = (known for known in server.clients if known.remote_address == link.local_address)
        assert ours.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_two_pages_get_their_own_answers(server: Server) -> None:
    with greeted(server) as first, greeted(server) as second:
        ask(first, 1, State(points=((1.0, 0.0, 1.0),), width=3, until=10.0))
        ask(second, 1, State(points=((1.0, 0.0, -1.0),), width=5, until=10.0))
        assert received(first, "run", 1)["state"]["width"] == 3
        assert received(second, "run", 1)["state"]["width"] == 5


def test_the_newest_request_wins_and_the_stale_run_is_never_answered(server: Server) -> None:
    with greeted(server) as link:
        ask(link, 1)
        received(link, "run", 1)  # the solver is ready from here on
        ask(link, 2, SLOW)
        ask(link, 3, SLOW)
        ask(link, 4)
        seen = []
        while 4 not in seen:
            message = json.loads(link.recv(timeout=WAIT))
            if message["kind"] == "run":
                seen.append(message["id"])
    assert seen == [4]


class Pretended:
    """A process whose runs end when they are told to."""

    def __init__(self, answer: object) -> None:
        self.ready, self.client, self.number = True, None, 0
        self.is_free = True

    async def compute(self, client: Any, request: Request) -> Any:
        self.client, self.number, self.is_free = client, request.number, False
        self.end = asyncio.get_running_loop().create_future()
        answer = await self.end
        self.client, self.is_free = None, True
        return answer

    def stop(self) -> None:
        if not self.end.done():
            self.end.set_result(worker.STOP)


def test_runs_of_a_drag_are_computed_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "Worker", Pretended)
    answered: list[str] = []

    async def deliver(client: Any, document: Any) -> None:
        answered.append(document)

    async def drag() -> list[list[int]]:
        team = worker.Workers(answer_run, deliver, count=2)
        first, second = team.processes
        working = asyncio.create_task(team.work())
        at = []
        for number, final in ((1, False), (2, False), (3, False), (4, True)):
            team.ask("page", Request(number, QUICK, final))
            await asyncio.sleep(0.01)  # for all that can go on without an end
            at.append([process.number for process in (first, second) if process.client])
        process = next(own for own in (first, second) if own.client)
        process.end.set_result("last word")
        await asyncio.sleep(0.01)
        working.cancel()
        return at

    assert asyncio.run(drag()) == [[1], [1, 2], [3, 2], [4]]
    assert answered == ["last word"]


def test_a_newer_answer_ends_older_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "Worker", Pretended)
    answered: list[str] = []

    async def deliver(client: Any, document: Any) -> None:
        answered.append(document)

    async def drag() -> None:
        team = worker.Workers(answer_run, deliver, count=2)
        first, second = team.processes
        working = asyncio.create_task(team.work())
        for number in (1, 2):
            team.ask("page", Request(number, QUICK, final=False))
            await asyncio.sleep(0.01)
        second.end.set_result("newer")
        await asyncio.sleep(0.01)
        assert first.is_free
        working.cancel()

    asyncio.run(drag())
    assert answered == ["newer"]


def test_theory_comes_at_a_glance_while_something_is_dragged(server: Server) -> None:
    with greeted(server) as link:
        ask(link, 1, presets()[0], final=False)
        assert received(link, "glance", 1)["curve"]["mirrored"]


def test_a_page_that_goes_leaves_nothing_running(server: Server) -> None:
    with greeted(server) as link:
        ask(link, 1, SLOW)
    with greeted(server) as link:
        ask(link, 1)
        assert received(link, "run", 1)["complete"]
    for _ in range(600):  # the server hears of it in its own time
        if not any(own._waiting for own in server.workers):
            break
        time.sleep(0.05)
    assert not any(own._waiting for own in server.workers)


def test_a_process_that_dies_is_replaced_and_the_page_told(server: Server) -> None:
    with greeted(server) as link:
        ask(link, 1)
        received(link, "run", 1)
        ask(link, 2, SLOW)
        os.kill(busy_process(server, 2), signal.SIGKILL)
        assert "was stopped" in received(link, "error", 2)["text"]
        ask(link, 3)
        assert received(link, "run", 3)["complete"]


def test_a_process_that_does_not_stop_is_killed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with greeted(server) as link:
        ask(link, 1)
        received(link, "run", 1)
        ask(link, 2, SLOW)
        os.kill(busy_process(server, 2), signal.SIGSTOP)  # deaf from here on
        monkeypatch.setattr(worker, "PATIENCE", 0.0)
        ask(link, 3)
        assert received(link, "run", 3)["complete"]


def test_the_page_can_ask_for_its_template(server: Server) -> None:
    with greeted(server) as link:
        link.send('{"kind": "page"}')
        assert received(link, "page")["html"].startswith("<!doctype html>")


def test_the_command_prints_one_line_and_ends_on_interrupt() -> None:
    # a shell that runs the tests in the background has its children ignore interrupts
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heeding}; from rectilinear.cli import main; main()"
    command = [sys.executable, "-c", code, "explore", "xor", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline()
    assert address.startswith("http://127.0.0.1:")
    assert "#token=" in address
    process.send_signal(signal.SIGINT)
    rest, complaints = process.communicate(timeout=WAIT)
    assert (rest, complaints, process.returncode) == ("", "", 0)

"""The local server of the page: a few static files and one websocket, for one machine and whoever holds the token."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from ipaddress import ip_address

from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request as HttpRequest
from websockets.http11 import Response

from ..errors import InputError
from .documents import Document
from .messages import LARGEST_MESSAGE, read_message, read_request, refusal, welcome
from .page import FILES, replay_template
from .state import State
from .worker import Workers, workers

SOCKET = "/socket"
SECONDS_TO_SAY_HELLO = 10.0
WRONG_TOKEN = 4401  # how the page learns that its address has not this server's token
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
Opened = Callable[[str], None]


def listen(host: str, port: int, exposed: bool) -> socket.socket:
    """A socket on that address: of this machine only, unless `exposed`."""
    try:
        address = ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError as error:
        raise InputError(f"--host must be localhost or an IP address, found {host!r}.") from error
    if address.is_unspecified:
        raise InputError(f"--host must be one address that pages can name, found {host}; give the machine's own.")
    if not address.is_loopback and not exposed:
        raise InputError(f"--host {host} lets other machines in; add --expose if that is meant.")
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        return socket.create_server((str(address), port), family=family)
    except OSError as error:
        raise InputError(f"--port {port} of {host} cannot be used ({error}); choose another, or 0 for any.") from error


class Server:
    """Serves pages, checks who asks, and hands requests to the workers."""

    def __init__(self, listener: socket.socket, state: State | None = None) -> None:
        self.listener, self.state = listener, state
        self.token = secrets.token_urlsafe(32)
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        self.hosts = {f"{shown}:{port}"} | ({f"localhost:{port}"} if ip_address(host).is_loopback else set())
        self.address = f"http://{shown}:{port}/#token={self.token}"
        self.clients: set[ServerConnection] = set()
        self.workers: tuple[Workers, Workers]

    async def run(self, opened: Opened) -> None:
        """Serve until cancelled; `opened(address)` is called when pages can come."""
        self.workers = workers(self.deliver)
        try:
            async with (
                serve(
                    self.talk,
                    sock=self.listener,
                    process_request=self.respond,
                    origins=[f"http://{host}" for host in self.hosts],  # type: ignore[misc]
                    max_size=LARGEST_MESSAGE,
                    compression=None,
                    server_header=None,
                ),
                asyncio.TaskGroup() as tasks,
            ):
                opened(self.address)
                for worker in self.workers:
                    tasks.create_task(worker.work())
        finally:
            for worker in self.workers:
                worker.close()

    def respond(self, connection: ServerConnection, request: HttpRequest) -> Response | None:
        """A static file, a refusal, or None where a websocket may be opened."""
        hosts = request.headers.get_all("Host")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return _response(HTTPStatus.MISDIRECTED_REQUEST, "This server answers to its own address only.\n")
        if request.path == SOCKET:
            if request.headers.get("Origin") is None:
                return _response(HTTPStatus.FORBIDDEN, "Only the explorer's own page may open this socket.\n")
            return None  # `origins` lets no other one in
        if request.path not in FILES:
            return _response(HTTPStatus.NOT_FOUND, "There is no such page.\n")
        kind, content = FILES[request.path]
        return _response(HTTPStatus.OK, content(), kind)

    async def talk(self, connection: ServerConnection) -> None:
        """One page: it must show the token first, and may then ask."""
        _at_once(connection)
        with suppress(ConnectionClosed):
            if not await self._is_trusted(connection):
                await connection.close(WRONG_TOKEN, "wrong token")
                return
            self.clients.add(connection)
            try:
                exact = self.workers[0]
                await _send(connection, {**welcome(self.state), "ready": exact.ready, "solvers": len(exact.processes)})
                async for text in connection:
                    await self._take(connection, text)
            finally:
                self.clients.discard(connection)
                for worker in self.workers:
                    worker.forget(connection)

    async def deliver(self, client: object, document: Document) -> None:
        """To the page that asked, or to all of them; theory alone is not ready."""
        if document["kind"] == "ready" and not self.workers[0].ready:
            return
        for connection in [known for known in self.clients if client is None or known is client]:
            with suppress(ConnectionClosed):
                await _send(connection, document)

    async def _is_trusted(self, connection: ServerConnection) -> bool:
        try:
            async with asyncio.timeout(SECONDS_TO_SAY_HELLO):
                message = read_message(await connection.recv())
        except (TimeoutError, InputError):
            return False
        token = message.get("token")
        return isinstance(token, str) and secrets.compare_digest(token.encode(), self.token.encode())

    async def _take(self, connection: ServerConnection, text: str | bytes) -> None:
        try:
            message = read_message(text)
            if message["kind"] == "page":
                await _send(connection, {"kind": "page", "html": replay_template()})
                return
            request = read_request(message)
        except InputError as error:
            await _send(connection, refusal(None, str(error)))
            return
        for worker in self.workers:
            worker.ask(connection, request)


def _at_once(connection: ServerConnection) -> None:
    """Let no answer wait until the page has acknowledged the one before, which takes it 40 ms; asyncio sees to it only for some sockets."""
    connection.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


async def _send(connection: ServerConnection, document: Document) -> None:
    await connection.send(json.dumps(document, allow_nan=False))


def _response(status: HTTPStatus, text: str, kind: str = "text/plain") -> Response:
    body = text.encode()
    headers = Headers({**HEADERS, "Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))})
    headers["Connection"] = "close"
    return Response(status.value, status.phrase, headers, body)

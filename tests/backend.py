"""A backend on loopback that serves, fails, hangs or refuses, as a test says."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from tests.support import PATIENCE

BODY: Final = b"ok"


class Backend:
    """An HTTP server in threads, which keeps its port while it is down.

    `status` is what it answers; it hangs while `answers` is not set. `asked` are the request lines and headers.
    """

    def __init__(self) -> None:
        self.status = 200
        self.answers = threading.Event()
        self.answers.set()
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._open = 0
        self._news = threading.Condition()
        self._server = self._made(0)
        self.port = int(self._server.server_address[1])
        self._start()

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}"

    def wait_asked(self, times: int) -> None:
        """Wait until it has been asked so many times in all."""
        self._wait(lambda: len(self.asked) >= times)

    def wait_idle(self) -> None:
        """Wait until it has no connection any more."""
        self._wait(lambda: not self._open)

    def refuse(self) -> None:
        """Go down: who dials is refused."""
        self._server.shutdown()
        self._server.server_close()

    def serve_again(self) -> None:
        """Come back at the same port."""
        self._server = self._made(self.port)
        self._start()

    def _wait(self, holds: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(holds, PATIENCE)

    def _note(self, *asked: tuple[str, dict[str, str]], connections: int = 0) -> None:
        with self._news:
            self.asked.extend(asked)
            self._open += connections
            self._news.notify_all()

    def _start(self) -> None:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def _made(self, port: int) -> ThreadingHTTPServer:
        backend = self

        class Handler(BaseHTTPRequestHandler):
            def setup(self) -> None:
                backend._note(connections=1)
                super().setup()

            def finish(self) -> None:
                super().finish()
                self.connection.close()
                backend._note(connections=-1)

            def do_GET(self) -> None:
                backend._note((self.requestline, dict(self.headers)))
                backend.answers.wait()
                try:
                    self.send_response(backend.status)
                    self.send_header("Content-Length", str(len(BODY)))
                    self.end_headers()
                    self.wfile.write(BODY)
                except OSError:
                    self.close_connection = True  # who asked has gone

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
                """Say nothing."""

        return _Server(("127.0.0.1", port), Handler)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        super().server_bind()


@contextmanager
def backend() -> Iterator[Backend]:
    """Have a backend for as long as the block runs."""
    made = Backend()
    try:
        yield made
    finally:
        made.answers.set()
        made.refuse()

"""A web server on the loopback that misbehaves on demand."""

import threading
from collections import defaultdict
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Loopback:
    """``files[path]`` is what the server has; ``tricks[path]`` lists what it does instead.

    Each request uses up one trick: a status code, ``("cut", n)`` to stop after n bytes,
    ``("flip", n)`` to change byte n, ``"hang"``, or headers to answer with.
    """

    def __init__(self, port):
        self.root = f"http://127.0.0.1:{port}"
        self.files, self.tricks = {}, defaultdict(list)
        self.asked = []
        self.over = threading.Event()


@contextmanager
def serve():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.loopback = Loopback(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.loopback
    finally:
        server.loopback.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        loopback = self.server.loopback
        loopback.asked.append(self.path)
        trick = loopback.tricks[self.path].pop(0) if loopback.tricks[self.path] else None
        if trick == "hang":
            loopback.over.wait()
            return
        if isinstance(trick, dict):
            self._answer(trick, loopback.files[self.path])
            return
        if isinstance(trick, int) or self.path not in loopback.files:
            self.send_error(trick or 404)
            return
        self._send(loopback.files[self.path], *(trick or (None, 0)))

    def _answer(self, headers, body):
        self.send_response(302 if "Location" in headers else 200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def _send(self, body, trick, position):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if trick == "flip":
            body = body[:position] + bytes([body[position] ^ 1]) + body[position + 1 :]
        self.wfile.write(body[:position] if trick == "cut" else body)
        self.close_connection = True

    def log_message(self, *_):
        pass

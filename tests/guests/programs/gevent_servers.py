"""gevent: a server and 40 clients as greenlets on patched sockets, with work in between."""

from gevent import monkey

monkey.patch_all()

import hashlib  # noqa: E402
import socket  # noqa: E402

import gevent  # noqa: E402
from gevent.server import StreamServer  # noqa: E402


def answer(connection, _address):
    with connection.makefile("rb") as lines:
        for line in lines:
            digest = line
            for _ in range(300):
                digest = hashlib.sha256(digest).digest()
            connection.sendall(digest.hex().encode() + b"\n")


def ask(port, number):
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as lines:
        total = 0
        for turn in range(40):
            connection.sendall(f"{number} {turn}\n".encode())
            total ^= int(lines.readline(), 16)
        return total


def main():
    server = StreamServer(("127.0.0.1", 0), answer)
    server.start()
    clients = [gevent.spawn(ask, server.server_port, number) for number in range(40)]
    gevent.joinall(clients, raise_error=True)
    total = 0
    for client in clients:
        total ^= client.value
    print("answers", f"{total:064x}")
    server.stop()


main()

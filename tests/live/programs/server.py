"""Eight Python threads fight for the GIL and answer each other over sockets, until the file named first is there."""

import hashlib
import os
import selectors
import socket
import sys
import threading

stop, most = sys.argv[1], int(sys.argv[2])
pairs = [socket.socketpair() for _ in range(4)]
over = threading.Event()


def answer(end: socket.socket) -> None:
    chosen = selectors.DefaultSelector()  # epoll: a wait that the kernel does not restart
    chosen.register(end, selectors.EVENT_READ)
    while True:
        if not chosen.select(5):
            continue
        data = end.recv(64)
        if not data:
            return
        number = int(data)
        end.sendall(str(sum(i * number for i in range(500))).encode())


def ask(end: socket.socket, sums: list[int]) -> None:
    number = 0
    while not over.is_set():
        number += 1
        end.sendall(str(number).encode())
        assert int(end.recv(64)) == 124750 * number
        sums.append(1)
    end.close()


sums: list[int] = []
threads = [threading.Thread(target=answer, args=(b,)) for _, b in pairs]
threads += [threading.Thread(target=ask, args=(a, sums)) for a, _ in pairs]
for thread in threads:
    thread.start()
print("ready", flush=True)
while not os.path.exists(stop) and len(sums) < most:
    over.wait(0.05)
over.set()
for thread in threads:
    thread.join()
print(0, hashlib.sha256(b"all answers were right").hexdigest()[:16], flush=True)

"""uvloop: an echo server, 30 clients, a thread pool and a child process on one loop."""

import asyncio
import hashlib
import sys

import uvloop


def work(text):
    for _ in range(2000):
        text = hashlib.sha256(text).digest()
    return text


async def serve(reader, writer):
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
    writer.close()


async def client(port, number):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    total = 0
    for turn in range(60):
        writer.write(f"{number * turn}\n".encode())
        total += int(await reader.readline())
    writer.close()
    return total


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    totals = await asyncio.gather(*(client(port, number) for number in range(30)))
    loop = asyncio.get_running_loop()
    hashed = await asyncio.gather(*(loop.run_in_executor(None, work, bytes([i])) for i in range(60)))
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "print(sum(range(10**6)))", stdout=asyncio.subprocess.PIPE
    )
    said, _ = await child.communicate()
    print(sum(totals), hashlib.sha256(b"".join(hashed)).hexdigest(), said.decode().strip(), child.returncode)
    server.close()


uvloop.run(main())

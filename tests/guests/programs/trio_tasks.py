"""trio: tasks over memory channels, worker threads, cancellation and a signal that trio receives."""

import hashlib
import os
import signal

import trio


def work(number):
    text = bytes([number])
    for _ in range(3000):
        text = hashlib.sha256(text).digest()
    return text


async def producer(channel, number):
    async with channel:
        for turn in range(100):
            await channel.send(number * 100 + turn)


async def main():
    total = 0
    send, receive = trio.open_memory_channel(0)
    async with trio.open_nursery() as nursery:
        async with send:
            for number in range(20):
                nursery.start_soon(producer, send.clone(), number)
        async for value in receive:
            total += value * value
    results = {}

    async def hashed(number):
        results[number] = await trio.to_thread.run_sync(work, number)

    async with trio.open_nursery() as nursery:
        for number in range(40):
            nursery.start_soon(hashed, number)
    with trio.move_on_after(0.2) as scope:
        await trio.sleep_forever()
    with trio.open_signal_receiver(signal.SIGUSR1) as signals:
        os.kill(os.getpid(), signal.SIGUSR1)
        number = await anext(aiter(signals))
    digest = hashlib.sha256(b"".join(results[n] for n in range(40))).hexdigest()
    print(total, digest, scope.cancelled_caught, number)


trio.run(main)

"""A pool, a queue and a lock between processes. usage: multiprocessing_pool.py fork|spawn|forkserver"""

import hashlib
import multiprocessing
import sys


def work(number):
    text = bytes([number % 256])
    for _ in range(4000):
        text = hashlib.sha256(text).digest()
    return text.hex()


def put(queue, lock, number):
    with lock:
        queue.put((number, work(number)))


def main():
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(3) as pool:
        results = pool.map(work, range(60), chunksize=2)
    queue, lock = context.Queue(), context.Lock()
    processes = [context.Process(target=put, args=(queue, lock, number)) for number in range(6)]
    for process in processes:
        process.start()
    received = sorted(queue.get() for _ in processes)
    for process in processes:
        process.join()
    print(hashlib.sha256("".join(results).encode()).hexdigest(), [p.exitcode for p in processes])
    print([number for number, text in received if text == work(number)])


if __name__ == "__main__":
    main()

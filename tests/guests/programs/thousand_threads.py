"""1000 threads alive at once, each with work of its own, and 1000 more one after another."""

import threading

results = [0] * 2000
together = threading.Barrier(1000)


def work(number):
    total = 0
    for i in range(300):
        total = (total * 31 + i * number) % 1_000_003
    results[number] = total


def alive_at_once(number):
    together.wait()
    work(number)
    together.wait()


def main():
    threading.stack_size(256 << 10)
    threads = [threading.Thread(target=alive_at_once, args=(number,)) for number in range(1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(1000, 2000):
        thread = threading.Thread(target=work, args=(number,))
        thread.start()
        thread.join()
    print("sum", sum(results), "threads left", threading.active_count())


main()

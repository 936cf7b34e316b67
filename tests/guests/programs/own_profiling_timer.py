"""A program with a profiling timer of its own: setitimer(ITIMER_PROF) and a SIGPROF handler."""

import signal
import threading
import time

INTERVAL_S = 0.02
own = 0


def on_tick(number, frame):
    global own
    own += 1


def work(count):
    total = 0
    for i in range(count):
        total = (total * 31 + i) % 1_000_003
    return total


def main():
    signal.signal(signal.SIGPROF, on_tick)
    print("was", signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S))
    thread = threading.Thread(target=work, args=(4_000_000,))
    start = time.process_time()
    thread.start()
    total = work(8_000_000)
    thread.join()
    used = time.process_time() - start
    interval = signal.getitimer(signal.ITIMER_PROF)[1]
    signal.setitimer(signal.ITIMER_PROF, 0)
    # Ticks may fall together, but none may be Sonde's; and most must arrive.
    print("total", total, "interval", round(interval, 3))
    print(
        "own ticks",
        0.5 < own * INTERVAL_S / used < 1.5,
        "handler",
        signal.getsignal(signal.SIGPROF) is on_tick,
    )


main()

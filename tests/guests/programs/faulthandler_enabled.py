"""faulthandler with its alternate stack: dumps on request and by timer while the program computes."""

import faulthandler
import signal
import tempfile
import threading


def work(count):
    total = 0
    for i in range(count):
        total = (total * 31 + i) % 1_000_003
    return total


def main():
    faulthandler.enable()
    with tempfile.TemporaryFile("w+") as timed, tempfile.TemporaryFile("w+") as asked:
        faulthandler.register(signal.SIGUSR1, file=asked, all_threads=False)
        faulthandler.dump_traceback_later(0.05, repeat=True, file=timed)
        other = threading.Thread(target=work, args=(3_000_000,))
        other.start()
        total = 0
        for _ in range(20):
            total += work(200_000)
            signal.raise_signal(signal.SIGUSR1)
        other.join()
        faulthandler.cancel_dump_traceback_later()
        timed.seek(0)
        asked.seek(0)
        dumps = asked.read().count("in main")
        print("total", total, "dumps", dumps, "by timer", "Timeout (0:00:00.050000)!" in timed.read())
    faulthandler.disable()


main()

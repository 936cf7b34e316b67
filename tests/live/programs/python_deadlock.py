"""Two threads that each hold the lock that the other wants."""

import threading

first, second = threading.Lock(), threading.Lock()
both_hold_one = threading.Barrier(3)


def takes_first():
    with first:
        both_hold_one.wait()
        second.acquire()  # never given


def takes_second():
    with second:
        both_hold_one.wait()
        first.acquire()  # never given


threads = [threading.Thread(target=takes_first), threading.Thread(target=takes_second)]
for thread in threads:
    thread.start()
both_hold_one.wait()
print("ready", flush=True)
for thread in threads:
    thread.join()

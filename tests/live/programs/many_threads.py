"""500 threads that wait for one event, and one that computes."""

import threading

never = threading.Event()
for _ in range(500):
    threading.Thread(target=never.wait, daemon=True).start()
print("ready", flush=True)
while True:
    sum(range(1000))

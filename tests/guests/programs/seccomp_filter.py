"""A program in its own sandbox: seccomp refuses, or kills for, calls that it never makes itself.

usage: seccomp_filter.py refuse|kill. Threads start and end, libraries load and a child runs inside the filter.
"""

import ctypes
import hashlib
import os
import struct
import sys
import threading

# x86-64 numbers: ptrace, timer_create … timer_delete, perf_event_open, process_vm_readv, process_vm_writev, kcmp, bpf
NEVER = (101, 222, 223, 224, 225, 226, 298, 310, 311, 312, 321)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW, KILL_PROCESS, REFUSE_WITH_EPERM = 0x7FFF0000, 0x80000000, 0x00050001


def install(verdict):
    lines = [struct.pack("HBBI", 0x20, 0, 0, 0)]  # load the call's number
    for i, number in enumerate(NEVER):
        lines.append(struct.pack("HBBI", 0x15, len(NEVER) - i, 0, number))
    lines.append(struct.pack("HBBI", 0x06, 0, 0, ALLOW))
    lines.append(struct.pack("HBBI", 0x06, 0, 0, verdict))
    code = b"".join(lines)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(buffer))
    held = ctypes.create_string_buffer(program, len(program))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_void_p(ctypes.addressof(held)), 0, 0
    ):
        sys.exit(f"seccomp is not to be had: {os.strerror(ctypes.get_errno())}")


def work(results, number):
    text = bytes([number])
    for _ in range(15_000):
        text = hashlib.sha256(text).digest()
    results[number] = text.hex()


def main():
    verdict = {"refuse": REFUSE_WITH_EPERM, "kill": KILL_PROCESS}[sys.argv[1]]
    results = {}
    work(results, 99)
    install(verdict)
    threads = [threading.Thread(target=work, args=(results, number)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(hashlib.sha256("".join(results[n] for n in sorted(results)).encode()).hexdigest(), flush=True)
    child = os.fork()
    if child == 0:
        work(results, 50)
        os.write(1, f"child {results[50][:16]}\n".encode())
        os._exit(3)
    print("child ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


main()

"""Generated code, called from Python, that points the stack pointer at its own block and hides the way back."""

import ctypes
import mmap
import time

# push rbp; mov r11, rsp; xor r11, -1; xor ebp, ebp; mov rsp, rsi; 1: dec rdi; jnz 1b; lea rax, [rip+2]; jmp rax;
# xor r11, -1; mov rsp, r11; pop rbp; ret
CODE = bytes.fromhex("554989e34983f3ff31ed4889f448ffcf75fb488d0502000000ffe04983f3ff4c89dc5dc3")

memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(CODE)
kernel = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_void_p)(
    ctypes.addressof(ctypes.c_char.from_buffer(memory))
)
block = ctypes.create_string_buffer(1 << 16)


def calls_kernel() -> None:
    kernel(20 << 20, ctypes.addressof(block) + (1 << 15))


end = time.thread_time() + 0.5
while time.thread_time() < end:
    calls_kernel()
print("changed", sum(byte != b"\0" for byte in block))

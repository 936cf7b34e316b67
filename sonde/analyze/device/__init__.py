"""What a device did: kernels, copies, idle time, launches, memory."""

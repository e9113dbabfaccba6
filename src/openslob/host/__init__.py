"""Operating-system counters: CPU, memory, processes and block devices of this host, and its description."""

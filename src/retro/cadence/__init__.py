"""When sweeps happen without anybody asking: the system's scheduler, and hooks of the agents."""

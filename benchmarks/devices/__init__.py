"""How long the whole map takes with GPUs, NVML's answers included, and how that grows."""

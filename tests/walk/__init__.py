"""Random walks of a whole node: pods, kubelet, the kernel and others act, and the agent passes."""

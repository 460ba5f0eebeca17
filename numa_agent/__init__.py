"""numa-agent: the node agent that makes NUMA placement on Kubernetes true."""

__version__ = "0.1.0"

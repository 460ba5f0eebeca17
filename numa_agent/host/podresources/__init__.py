"""kubelet's podresources API, v1, over its unix socket.

The messages' code is generated from api.proto. The calls are gRPC by hand on h2, a well-kept
HTTP/2 library in pure Python: a unary call is one request and one answer on one stream. What that
costs by `python -m benchmarks.podresources` (110 pods with a GPU; a read is List and
GetAllocatableResources), in MiB of resident memory on top of the 43 that the daemon has once it
has loaded its API server's client:

| client  | loaded | after 100 reads | ms a read |
|---------|--------|-----------------|-----------|
| h2      |    4.2 |             4.9 |       3.7 |
| grpclib |    6.7 |             7.2 |       3.7 |
| grpcio  |   17.0 |            19.2 |       3.5 |

grpcio alone takes the daemon over its 60 MiB, and runs threads of its own. grpclib needs an event
loop in a pass that has none, and neither bounds a message's length nor lets its authority be set.
"""

from numa_agent.host.podresources.client import read_pod_resources

__all__ = ["read_pod_resources"]

"""kubelet's device plugin API, v1beta1: a gRPC server on a unix socket, and its registration.

The messages' code is generated from api.proto. The server is gRPC by hand on h2, as the client of
kubelet's podresources is: kubelet has one connection, four kinds of calls and one stream that it
follows.
By `python -m benchmarks.deviceplugin` (8 cards; MiB of resident memory above what the daemon has):

| server  | loaded | after 1000 calls | threads | ms a call |
|---------|--------|------------------|---------|-----------|
| h2      |    1.8 |              1.5 |       1 |      0.39 |
| grpclib |    2.3 |              2.6 |       1 |      0.44 |
| grpcio  |   10.4 |             14.7 |       9 |      0.36 |

grpclib is h2 with an event loop, and would be a dependency more for what is 350 lines here; it
bounds neither a request's length nor its callers. grpcio alone takes the daemon near its 60 MiB.
All of this is loaded only where cards are offered.
"""

from numa_agent.host.deviceplugin.events import NvmlEvents
from numa_agent.host.deviceplugin.files import read_device_files
from numa_agent.host.deviceplugin.keeping import DevicePlugin, socket_name
from numa_agent.host.deviceplugin.service import Answering, Listed, service

__all__ = [
    "Answering",
    "DevicePlugin",
    "Listed",
    "NvmlEvents",
    "read_device_files",
    "service",
    "socket_name",
]

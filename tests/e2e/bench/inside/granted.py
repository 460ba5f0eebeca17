"""What kubelet's podresources says, as JSON; run by Python of the checkout, the first argument."""

import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from numa_agent.host.podresources import read_pod_resources

print(json.dumps(read_pod_resources(Path("/var/lib/kubelet/pod-resources/kubelet.sock"))))

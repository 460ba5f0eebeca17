"""Every setting, once: the parser, `numa-agent config`, the JSON schema and the docs read this.

To add one, add it here and its field to Config, and run `python -m tools.config_docs`.
"""

from numa_agent.config.kinds import Kind, Setting
from numa_agent.config.places import LOCK_FILE

SCHEDULERS = ("kube-scheduler", "koordinator", "ack")


def _word(
    key: str, field: str, words: str, meaning: str, *, on: str | None = None, live: bool = False
) -> Setting:
    """A setting that is one of a few words, of which the first is the default."""
    allowed = tuple(words.split())
    return Setting(
        key=key,
        field=field,
        kind=Kind.WORD,
        meaning=meaning,
        default=allowed[0],
        words=allowed,
        on=on,
        live=live,
    )


SETTINGS = (
    Setting(
        key="hostRoot",
        field="host_root",
        kind=Kind.PATH,
        default="/",
        meaning="The root of the machine that is looked at; in a pod, where it is mounted",
    ),
    Setting(
        key="liveRoot",
        field="live_root",
        kind=Kind.PATH,
        default="/",
        meaning="Where the machine that the agent runs on is mounted; the same folder as hostRoot"
        " on a live node",
    ),
    Setting(
        key="nodeName",
        field="node_name",
        kind=Kind.TEXT,
        meaning="The Node's name; by default the environment's NODE_NAME",
    ),
    Setting(
        key="kubeconfig",
        field="kubeconfig",
        kind=Kind.PATH,
        meaning="How the API server is reached; by default the pod's service account, else"
        " ~/.kube/config",
    ),
    Setting(
        key="nvml",
        field="nvml",
        kind=Kind.MACHINE_PATH,
        default="auto",
        words=("auto", "off"),
        example="/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
        meaning="Whether NVIDIA's management library is asked, or the path of the one to ask",
    ),
    Setting(
        key="localityOverrides",
        field="locality_overrides",
        kind=Kind.PATH,
        meaning="A YAML file of PCI addresses and their NUMA node, where firmware is wrong; it is"
        " read at the start",
    ),
    _word(
        "scheduler",
        "scheduler",
        " ".join(SCHEDULERS),
        "Whose language is published; assignments are followed in every language",
    ),
    Setting(
        key="kubeletConfig",
        field="kubelet_config",
        kind=Kind.MACHINE_PATH,
        default="auto",
        words=("auto", "configz"),
        example="/etc/kubernetes/kubelet.yaml",
        meaning="Where kubelet's configuration is read: where kubelet has it by default (auto),"
        " from the running kubelet through the API server (configz), or a path on the machine",
    ),
    Setting(
        key="kubeletConfigDir",
        field="kubelet_config_dir",
        kind=Kind.MACHINE_PATH,
        example="/etc/kubernetes/kubelet.conf.d",
        meaning="kubelet's drop-in directory on the machine; not with kubeletConfig: configz",
    ),
    Setting(
        key="podresources",
        field="podresources",
        kind=Kind.MACHINE_PATH,
        default="auto",
        words=("auto", "off"),
        example="/data/kubelet/pod-resources/kubelet.sock",
        meaning="Whether kubelet's podresources socket is asked, or its path on the machine",
    ),
    _word(
        "topologyPolicy",
        "topology_policy",
        "kubelet none best-effort restricted single-numa-node",
        "The Topology Manager's policy that is published: kubelet's own, or what numa-agent keeps"
        " in its place",
        live=True,
    ),
    _word(
        "topologyScope",
        "topology_scope",
        "kubelet container pod",
        "The Topology Manager's scope that is published, likewise",
        live=True,
    ),
    _word(
        "podFingerprint",
        "pod_fingerprint",
        "all with-exclusive-resources",
        "Which pods the fingerprint counts",
        live=True,
    ),
    _word(
        "podFingerprintPods",
        "pod_fingerprint_pods",
        "Dedicated Shared",
        "The informerMode of the scheduler's plugin, which says whether finished pods count",
        live=True,
    ),
    _word(
        "memoryZones",
        "memory_zones",
        "off on",
        "Whether memory-only NUMA nodes are published as zones (kube-scheduler)",
        on="on",
        live=True,
    ),
    Setting(
        key="measuredDistances",
        field="measured_distances",
        kind=Kind.PATH,
        live=True,
        meaning="A file of `numa-agent measure -o distances`: its distances are published in place"
        " of the firmware's (kube-scheduler)",
    ),
    _word(
        "takeover",
        "takeover",
        "off on",
        "Whether another publisher's fields are written over",
        on="on",
        live=True,
    ),
    _word("mems", "mems", "with-cpus off migrate", "When memory nodes are bound"),
    _word(
        "sharedPods",
        "shared_pods",
        "bind leave",
        "Whether pods without CPUs of their own are kept off those of others",
        on="bind",
        live=True,
    ),
    _word(
        "cpuQuota",
        "lift_quota",
        "keep lift",
        "Whether pods with CPUs of their own lose their CPU quota",
        on="lift",
        live=True,
    ),
    Setting(
        key="trustedManagers",
        field="trusted_managers",
        kind=Kind.NAMES,
        live=True,
        example="koord-scheduler",
        meaning="The field managers whose assignments are followed, as a list or with commas;"
        " where it isn't set, whoever may annotate pods is believed",
    ),
    Setting(
        key="metrics",
        field="metrics",
        kind=Kind.ADDRESS,
        default="off",
        words=("off",),
        example="127.0.0.1:9316",
        meaning="Where /metrics and the health pages are served; 0.0.0.0 or [::] is every"
        " address of the pod",
    ),
    Setting(
        key="metricsTlsCert",
        field="metrics_tls_cert",
        kind=Kind.OWN_FILE,
        example="/etc/numa-agent/tls/tls.crt",
        meaning="The certificate chain (PEM) of what is served; with metricsTlsKey",
    ),
    Setting(
        key="metricsTlsKey",
        field="metrics_tls_key",
        kind=Kind.OWN_FILE,
        example="/etc/numa-agent/tls/tls.key",
        meaning="The private key (PEM) of metricsTlsCert",
    ),
    _word(
        "metricsAuth",
        "metrics_auth",
        "off token-review",
        "Whether who scrapes must show a bearer token that the API server accepts for it",
    ),
    _word(
        "metricsContainers",
        "metrics_containers",
        "off on",
        "Whether there is a metric for each container",
        on="on",
        live=True,
    ),
    _word(
        "events",
        "events",
        "on off",
        "Whether Events are written on pods and the Node",
        on="on",
        live=True,
    ),
    _word(
        "assignerAnnotate",
        "assigner_annotate",
        "off on",
        "Whether what the agent's own assigner decided is written on the pod, as an annotation",
        on="on",
        live=True,
    ),
    _word(
        "assignerUnplaced",
        "assigner_unplaced",
        "keep mark evict",
        "What is done about a pod that the agent's own assigner can't place as it asks: nothing,"
        " an annotation that says why, or that and its eviction",
        live=True,
    ),
    Setting(
        key="assignerEvictSeconds",
        field="assigner_evict_seconds",
        kind=Kind.SECONDS,
        default="300",
        live=True,
        example="300",
        meaning="Seconds from its start in which a pod that can't be placed may be evicted",
    ),
    Setting(
        key="passSeconds",
        field="pass_seconds",
        kind=Kind.SECONDS,
        default="60",
        live=True,
        example="60",
        meaning="Seconds from one pass to the next when nothing wakes the agent",
    ),
    Setting(
        key="verifySeconds",
        field="verify_seconds",
        kind=Kind.SECONDS,
        default="120",
        live=True,
        example="120",
        meaning="Seconds for which a verdict stands in passes that find the container unchanged",
    ),
    _word(
        "assigner",
        "assigner",
        "fallback off always",
        "Whether the agent decides itself for pods that ask for CPUs beside their devices: where"
        " no scheduler did, never, or at once and for Guaranteed pods that don't ask as well",
        live=True,
    ),
    Setting(
        key="assignerGraceSeconds",
        field="assigner_grace_seconds",
        kind=Kind.SECONDS,
        default="5",
        live=True,
        example="5",
        meaning="Seconds that a scheduler which decides CPUs (koordinator, ack) has for it before"
        " the agent does",
    ),
    Setting(
        key="shapes",
        field="shapes",
        kind=Kind.SHAPES,
        live=True,
        example="24c4g256Gi",
        meaning="The pods whose slots are counted, as CPUs, GPUs and memory, as a list or with"
        " commas; where it isn't set, those that run here, else fractions of a NUMA node",
    ),
    _word(
        "gpuPlugin",
        "gpu_plugin",
        "off on",
        "Whether kubelet is offered the node's whole NVIDIA cards (its device plugin API)",
        on="on",
    ),
    Setting(
        key="gpuResource",
        field="gpu_resource",
        kind=Kind.RESOURCE,
        default="aliyun.com/gpu",
        example="nvidia.com/gpu",
        meaning="The resource that the cards are offered as",
    ),
    _word(
        "gpuPass",
        "gpu_pass",
        "env devices cdi cdi-annotations",
        "How a container gets its cards: by the environment for NVIDIA's runtime, by that and the"
        " device files, or by CDI names in kubelet's field or in annotations",
    ),
    Setting(
        key="lockFile",
        field="lock_file",
        kind=Kind.MACHINE_PATH,
        default=f"/{LOCK_FILE}",
        example=f"/{LOCK_FILE}",
        meaning="The file on the machine, below hostRoot, that the node's one agent holds locked",
    ),
    _word("logFormat", "log_format", "text json", "How the log is written"),
)

BY_KEY = {setting.key: setting for setting in SETTINGS}

KEYS = tuple(BY_KEY)
"""Every setting, by its name in the configuration file."""

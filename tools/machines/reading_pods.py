"""The part of a description that is about kubelet and its pods."""

from numa_agent.core.cpulist import render

from .section import Section
from .spec import Cgroup, Container, Cpus, Kubelet, Pod


def read_cgroup(section: Section) -> Cgroup:
    """Where pods' cgroups are, from `cgroup`."""
    cgroup = Cgroup(
        version=section.integer("version", 2),
        driver=section.choice("driver", ("systemd", "cgroupfs"), "systemd"),
        runtime=section.choice("runtime", ("containerd", "cri-o", "docker"), "containerd"),
    )
    section.done()
    if cgroup.version not in (1, 2):
        raise section.wrong("version", "expected 1 or 2")
    return cgroup


def read_kubelet(section: Section) -> Kubelet:
    """kubelet's policies, from `kubelet`."""
    policies = ("none", "best-effort", "restricted", "single-numa-node")
    kubelet = Kubelet(
        cpu_manager=section.choice("cpu_manager", ("none", "static"), "none"),
        memory_manager=section.choice("memory_manager", ("None", "Static"), "None"),
        topology_manager=section.choice("topology_manager", policies, "none"),
        scope=section.choice("scope", ("container", "pod"), "container"),
        reserved_cpus=section.id_set("reserved_cpus", ""),
        reserved_memory=section.size("reserved_memory", "1Gi"),
    )
    section.done()
    return kubelet


def read_pod(section: Section, cpus: Cpus) -> Pod:
    """One entry of `pods`."""
    namespace, _, name = section.text("name").partition("/")
    if not name:
        raise section.wrong("name", "expected namespace/name")
    qos = section.choice("qos", ("Guaranteed", "Burstable", "BestEffort"))
    pod = Pod(
        namespace=namespace,
        name=name,
        phase=section.choice("phase", ("Pending", "Running", "Succeeded", "Failed"), "Running"),
        qos=qos,
        owner=section.text("owner", ""),
        static=section.flag("static"),
        scheduler=section.text("scheduler", "default-scheduler"),
        labels=section.texts("labels"),
        annotations=section.texts("annotations"),
        cpuset=section.id_set("cpuset", ""),
        containers=tuple(_container(inner, qos, cpus) for inner in section.sections("containers")),
    )
    section.done()
    if not pod.containers:
        raise section.wrong("containers", "a pod has at least one")
    return pod


def _container(section: Section, qos: str, cpus: Cpus) -> Container:
    container = Container(
        name=section.text("name"),
        cpu=str(section.raw("cpu", "")),
        memory=section.size("memory", "0"),
        gpus=section.integers("gpus"),
        mig=section.rows("mig", 2, "[[GPU, instance]]"),
        devices=tuple(map(str, section.items("devices"))),
        exclusive=section.id_set("exclusive", ""),
        cpuset=section.id_set("cpuset", ""),
        memory_nodes=section.id_set("memory_nodes", ""),
    )
    section.done()
    asks = bool(container.cpu and container.memory)
    if (qos == "Guaranteed" and not asks) or (qos == "BestEffort" and container.cpu):
        raise section.wrong("cpu", f"doesn't make a {qos} pod")
    if not container.exclusive <= cpus.online:
        raise section.wrong(
            "exclusive", f"not online: {render(container.exclusive - cpus.online)}"
        )
    if len(container.memory_nodes) > 1:
        raise section.wrong("memory_nodes", "more than one node isn't supported yet")
    return container

"""The manifests' objects with the chart's values in them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tools.chart.merge import merge
from tools.chart.template import block, entries_if, keys_if, mark

Json = dict[str, Any]

MANIFESTS = Path(__file__).parents[2] / "manifests"
NAMESPACE = "{{ .Release.Namespace }}"
KUBELET = "/host/var/lib/kubelet"
TLS = ".Values.metrics.tls.enabled"
GPU = ".Values.gpu.enabled"
RESTORE = ".Values.restore"
HOST_PID = ".Values.hostPID"
GPU_PLUGIN = ".Values.gpuPlugin.enabled"


def read(path: str) -> list[Json]:
    """The objects of one file below manifests/."""
    text = (MANIFESTS / path).read_text(encoding="utf-8")
    return [each for each in yaml.safe_load_all(text) if each]


def daemon_set() -> Json:
    """The DaemonSet as `kubectl apply -k` makes it."""
    (found,) = read("base/daemonset/daemonset.yaml")
    return found


def daemon_sets() -> tuple[Json, Json]:
    """That of ordinary nodes, which keeps off GPU nodes where these have their own, and theirs."""
    (nvidia,) = read("components/gpu/daemonset/nvidia.yaml")
    (others,) = read("components/gpu/others.yaml")
    label = mark("{{ .Values.gpu.nodeLabel }}")
    affinity = others["spec"]["template"]["spec"]["affinity"]
    (term,) = _only(affinity)["nodeSelectorTerms"]
    term["matchExpressions"][0]["key"] = label
    plain = daemon_set()
    pod = plain["spec"]["template"]["spec"]
    plain["spec"]["template"]["spec"] = {**pod, **keys_if(GPU, {"affinity": affinity})}
    gpu = merge(daemon_set(), nvidia)
    gpu["metadata"]["name"] += "-gpu"
    pod = gpu["spec"]["template"]["spec"]
    pod["runtimeClassName"] = mark("{{ .Values.gpu.runtimeClassName }}")
    del pod["nodeSelector"]["nvidia.com/gpu.present"]
    _set(plain, ".Values.nodeSelector")
    chosen = 'merge (dict .Values.gpu.nodeLabel "true") .Values.nodeSelector'
    _set(gpu, f"({chosen})")
    return plain, gpu


def _only(affinity: Json) -> Json:
    required: Json = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return required


def _set(made: Json, selector: str) -> None:
    """Put the values into a DaemonSet."""
    made["metadata"]["namespace"] = mark(NAMESPACE)
    (restoring,) = read("components/restore/daemonset.yaml")
    all_at_once = restoring["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"]
    made["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = mark(
        f"{{{{ if {RESTORE} }}}}{all_at_once}{{{{ else }}}}{{{{ .Values.maxUnavailable }}}}"
        "{{ end }}"
    )
    template = made["spec"]["template"]
    template["metadata"]["annotations"]["prometheus.io/scheme"] = _scheme("https", "http")
    pod = template["spec"]
    pod["priorityClassName"] = mark("{{ .Values.priorityClassName }}")
    pod["nodeSelector"] = block(selector)
    pod["tolerations"] = block(".Values.tolerations")
    secrets = {"imagePullSecrets": block(".Values.imagePullSecrets")}
    pod.update(keys_if(".Values.imagePullSecrets", secrets))
    (container,) = pod["containers"]
    image = "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
    container["image"] = mark(f'"{image}"')
    container["imagePullPolicy"] = mark("{{ .Values.image.pullPolicy }}")
    container["resources"] = block(".Values.resources")
    (instead,) = restoring["spec"]["template"]["spec"]["containers"]
    run, restore = (f"[{', '.join(each['args'])}]" for each in (container, instead))
    container["args"] = mark(f"{{{{ if {RESTORE} }}}}{restore}{{{{ else }}}}{run}{{{{ end }}}}")
    probes = {key: container.pop(key) for key in list(container) if key.endswith("Probe")}
    for probe in probes.values():
        probe["httpGet"].update(keys_if(TLS, {"scheme": "HTTPS"}))
    container.update(keys_if(f"not {RESTORE}", probes))
    _set_volumes(pod, container)


def _scheme(secure: str, plain: str) -> str:
    return mark(f"{{{{ if {TLS} }}}}{secure}{{{{ else }}}}{plain}{{{{ end }}}}")


def _set_volumes(pod: Json, container: Json) -> None:
    (patch,) = read("components/metrics-tls/daemonset.yaml")
    secured = patch["spec"]["template"]["spec"]
    (volume,) = secured["volumes"]
    volume["secret"]["secretName"] = mark("{{ .Values.metrics.tls.secretName }}")
    (mount,) = secured["containers"][0]["volumeMounts"]
    for each in pod["volumes"]:
        if each["name"] == "kubelet":
            each["hostPath"]["path"] = mark("{{ .Values.kubelet.dir }}")
    mounts = [each for each in container["volumeMounts"] if each["name"] != "nothing"]
    (processes,) = read("components/host-pid/daemonset.yaml")
    seeing = processes["spec"]["template"]["spec"]
    pod.update(keys_if(HOST_PID, {"hostPID": True}))
    pod["volumes"] = _with_processes(pod["volumes"], seeing["volumes"])
    mounts = _with_processes(mounts, seeing["containers"][0]["volumeMounts"])
    pod["volumes"] += entries_if(TLS, [volume])
    (plugin,) = read("components/gpu-plugin/daemonset.yaml")
    offering = plugin["spec"]["template"]["spec"]
    (folder,) = offering["volumes"]
    (own,) = offering["containers"][0]["volumeMounts"]
    name = folder["hostPath"]["path"].rpartition("/")[2]
    folder["hostPath"]["path"] = mark(f"{{{{ .Values.kubelet.dir }}}}/{name}")
    pod["volumes"] += entries_if(GPU_PLUGIN, [folder])
    mounts += entries_if(GPU_PLUGIN, [own])
    hidden = {
        "name": "nothing",
        "mountPath": mark(f"{KUBELET}/{{{{ . }}}}"),
        "readOnly": True,
    }
    folders = ".Values.kubelet.hidden"
    seen = f'(ternary (without {folders} "{name}") {folders} {GPU_PLUGIN})'
    loop = [mark(f"{{{{- range {seen} }}}}"), hidden, mark("{{- end }}")]
    container["volumeMounts"] = [*mounts, *loop, *entries_if(TLS, [mount])]


def _with_processes(plain: list[Any], patch: list[Json]) -> list[Any]:
    """The entries, of which a patch takes some away and brings one."""
    key = "mountPath" if any("mountPath" in each for each in patch) else "name"
    gone = {each[key] for each in patch if each.get("$patch") == "delete"}
    away = [each for each in plain if each[key] in gone]
    kept = [each for each in plain if each[key] not in gone]
    brought = [each for each in patch if "$patch" not in each]
    return [*kept, *entries_if(f"not {HOST_PID}", away), *entries_if(HOST_PID, brought)]


def config_map() -> Json:
    """The agent's configuration: what the chart sets, and what its user does."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "numa-agent",
            "namespace": mark(NAMESPACE),
            "labels": {"app.kubernetes.io/name": "numa-agent"},
        },
    }


def config_lines() -> Iterator[str]:
    """The `data` of the ConfigMap as template: it is a text in which lines come and go."""
    base = (MANIFESTS / "base" / "config.yaml").read_text(encoding="utf-8")
    secured = (MANIFESTS / "overlays" / "metrics-tls" / "config.yaml").read_text(encoding="utf-8")
    yield "data:"
    yield "  config.yaml: |"
    for line in base.splitlines():
        key = line.partition(":")[0]
        yield f"    {key}: {{{{ .Values.scheduler }}}}" if key == "scheduler" else f"    {line}"
    yield f"    {{{{- if {TLS} }}}}"
    yield from (f"    {line}" for line in secured.removeprefix(base).splitlines())
    yield "    {{- end }}"
    yield f"    {{{{- if {GPU_PLUGIN} }}}}"
    offering = (MANIFESTS / "overlays" / "gpu-plugin" / "config.yaml").read_text(encoding="utf-8")
    yield from (f"    {line}" for line in offering.removeprefix(base).splitlines())
    yield "    {{- end }}"
    yield "    {{- with .Values.config }}"
    yield "    {{- toYaml . | nindent 4 }}"
    yield "    {{- end }}"


def assigners() -> Json:
    """The binding of the users that `admission.assigners` lists."""
    (binding,) = read("overlays/koordinator/assigner.yaml")
    binding["metadata"]["name"] = "numa-agent-assigners"
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User"}
    subject = {**group, "name": mark("{{ . }}")}
    loop = mark("{{- range .Values.admission.assigners }}")
    binding["subjects"] = [loop, subject, mark("{{- end }}")]
    return binding


def placed(objects: list[Json]) -> list[Json]:
    """The objects in the release's namespace, those of other namespaces where they are."""
    for each in objects:
        if each["metadata"].get("namespace") == "numa-agent":
            each["metadata"]["namespace"] = mark(NAMESPACE)
        for subject in each.get("subjects", []):
            if isinstance(subject, dict) and subject.get("namespace") == "numa-agent":
                subject["namespace"] = mark(NAMESPACE)
        spec = each.get("spec", {})
        for condition in (*spec.get("matchConditions", []), *spec.get("validations", [])):
            account = "system:serviceaccount:numa-agent:"
            condition["expression"] = condition["expression"].replace(
                account, f"system:serviceaccount:{mark(NAMESPACE)}:"
            )
    return objects

"""kubelet's settings as its files on a machine say them: the file, its drop-ins, and neither."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.errors import SourceError
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.host.kubelet import read_settings
from numa_agent.host.kubelet_yaml import parse_yaml
from tests.machine_tree import Tree, cpus
from tests.recorded import MACHINES

CONFIG = "var/lib/kubelet/config.yaml"
DROP_INS = Path("/etc/kubernetes/kubelet.conf.d")
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def read(root: Path, drop_in_dir: Path | None = None) -> KubeletSettings:
    """The settings of a machine whose files have nothing wrong."""
    found = read_settings(root, None, drop_in_dir)
    assert found is not None
    told, problems = found
    assert problems == ()
    return told


def drop_in(tree: Tree, name: str, text: str) -> Tree:
    return tree.file(f"{DROP_INS.relative_to('/')}/{name}", HEAD + text)


def test_the_file_is_where_kubeadm_puts_it(tmp_path: Path) -> None:
    Tree(tmp_path).file(CONFIG, f"{HEAD}cpuManagerPolicy: static\nreservedSystemCPUs: 0,4")
    assert read(tmp_path) == KubeletSettings(
        cpu_manager_policy="static", reserved_cpus=cpus("0,4"), reserved={"cpu": 2000}
    )


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_a_recorded_machine_s_settings_can_all_be_read(machine: Path) -> None:
    assert read(machine).eviction_memory == "100Mi"


def test_without_a_file_there_are_no_settings(tmp_path: Path) -> None:
    assert read_settings(tmp_path) is None


@pytest.mark.parametrize("path", ["/etc/kubelet.yaml", "etc/kubelet.yaml"])
def test_a_named_file_is_looked_for_on_the_machine(path: str, tmp_path: Path) -> None:
    Tree(tmp_path).file("etc/kubelet.yaml", "memoryManagerPolicy: Static")
    assert read_settings(tmp_path, Path(path)) == (
        KubeletSettings(memory_manager_policy="Static"),
        (),
    )


def test_a_named_file_or_folder_that_isn_t_there_is_told_of(tmp_path: Path) -> None:
    Tree(tmp_path).file(CONFIG, HEAD)
    with pytest.raises(SourceError, match=f"^{tmp_path}/etc/none.yaml: not there; name the file"):
        read_settings(tmp_path, Path("/etc/none.yaml"))
    with pytest.raises(SourceError, match=f"^{tmp_path}{DROP_INS}: No such file.*--config-dir"):
        read_settings(tmp_path, None, DROP_INS)


def test_a_file_in_place_of_the_folder_of_drop_ins_is_told_of(tmp_path: Path) -> None:
    Tree(tmp_path).file(CONFIG, HEAD)
    with pytest.raises(SourceError, match=f"^{tmp_path / CONFIG}: Not a directory"):
        read_settings(tmp_path, None, Path("/", CONFIG))


def test_drop_ins_are_laid_over_the_file_in_the_order_of_their_names(tmp_path: Path) -> None:
    tree = Tree(tmp_path).file(
        CONFIG, f"{HEAD}kubeReserved: {{cpu: '1', memory: 1Gi}}\ncpuManagerPolicy: none"
    )
    drop_in(tree, "20-b.conf", "kubeReserved: {memory: 3Gi}")
    drop_in(tree, "10-a.conf", "kubeReserved: {memory: 2Gi}\ncpuManagerPolicy: static")
    assert read(tmp_path, DROP_INS) == KubeletSettings(
        cpu_manager_policy="static", reserved={"cpu": 1000, "memory": 3 * 1024**3}
    )
    assert read(tmp_path).cpu_manager_policy == "none"


def test_drop_ins_of_folders_below_count_in_their_place_and_other_files_don_t(
    tmp_path: Path,
) -> None:
    tree = Tree(tmp_path).file(CONFIG, HEAD)
    drop_in(tree, "10-a/99.conf", "topologyManagerScope: pod\ncpuManagerPolicy: static")
    drop_in(tree, "10-a.conf", "topologyManagerScope: container")
    drop_in(tree, "90-c.conf.bak", "topologyManagerScope: pod")
    drop_in(tree, "95-d.yaml", "topologyManagerScope: pod")
    told = read(tmp_path, DROP_INS)
    assert (told.topology_manager_scope, told.cpu_manager_policy) == ("container", "static")


def test_drop_ins_alone_are_a_configuration_too(tmp_path: Path) -> None:
    drop_in(Tree(tmp_path), "10.conf", "cpuManagerPolicy: static")
    # A kubelet without a file of its own has no thresholds either.
    assert read(tmp_path, DROP_INS) == KubeletSettings(
        cpu_manager_policy="static", eviction_memory=""
    )


def test_an_empty_folder_of_drop_ins_changes_nothing(tmp_path: Path) -> None:
    Tree(tmp_path).file(CONFIG, f"{HEAD}evictionHard: {{}}").files(str(DROP_INS)[1:])
    assert read(tmp_path, DROP_INS).eviction_memory == ""


def test_a_damaged_drop_in_is_named(tmp_path: Path) -> None:
    tree = Tree(tmp_path).file(CONFIG, HEAD)
    drop_in(tree, "10-a.conf", "a: [")
    with pytest.raises(SourceError, match=f"^{tmp_path}{DROP_INS}/10-a.conf: not YAML"):
        read_settings(tmp_path, None, DROP_INS)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: [", "not YAML: while parsing"),
        (b"\x00", "not YAML"),
        (b"\xff", "can't decode byte 0xff"),
        (b"a: b: c", "not YAML"),
        (b"a: 1\n---\nb: 2", "not YAML: expected a single document"),
        (b"[" * 5000, "not YAML: nested too deep"),
        (b"x: 2026-13-45", "not YAML: month must be in"),
        (b"x: !!bool x", "not YAML: a value doesn't fit"),
        (b"x: !!int ''", "not YAML: a value doesn't fit"),
        (b"x: !!timestamp x", "not YAML: a value doesn't fit"),
        (b"x: !!python/object:os.system {}", "not YAML: could not determine a constructor"),
        (b"", "not an object of YAML"),
        (b"- a\n- b", "not an object of YAML"),
        (b"text", "not an object of YAML"),
        (b"cgroupRoot: /\nmaxPods: 1\ncgroupRoot: /a", "gives 'cgroupRoot' more than once"),
        (b"kubeReserved: {cpu: 1, cpu: 2}", "gives 'cpu' more than once"),
        (b"reservedMemory: [{numaNode: 0, numaNode: 1}]", "gives 'numaNode' more than once"),
        (b"kind: ClusterConfiguration", "its kind is 'ClusterConfiguration' and not"),
        (b"kind: [&a [x], *a]", "its kind is a list and not"),
    ],
)
def test_a_file_that_is_no_configuration_is_told_of_with_what_to_do(
    content: bytes, said: str, tmp_path: Path
) -> None:
    Tree(tmp_path).raw(CONFIG, content)
    with pytest.raises(SourceError, match=f"^{tmp_path / CONFIG}: .*{said}") as told:
        read_settings(tmp_path)
    assert len(str(told.value).splitlines()) == 1


def test_a_folder_in_place_of_the_file_is_told_of(tmp_path: Path) -> None:
    (tmp_path / CONFIG).mkdir(parents=True)
    with pytest.raises(SourceError, match="Is a directory"):
        read_settings(tmp_path)


def test_a_link_that_leads_off_the_mounted_machine_is_told_of(tmp_path: Path) -> None:
    # Below a mount, an absolute link of the machine leads elsewhere.
    link = Tree(tmp_path).files("var/lib/kubelet").root / CONFIG
    link.symlink_to("/nowhere/kubelet")
    with pytest.raises(SourceError, match="a link to /nowhere/kubelet, which isn't there"):
        read_settings(tmp_path)


def test_a_link_on_the_machine_is_followed(tmp_path: Path) -> None:
    tree = Tree(tmp_path).file("var/lib/kubelet/real.yaml", "cgroupRoot: /k")
    (tree.root / CONFIG).symlink_to("real.yaml")
    assert read(tmp_path).cgroup_root == "/k"


def test_members_that_can_t_be_read_are_named_with_their_files(tmp_path: Path) -> None:
    tree = Tree(tmp_path).file(CONFIG, f"{HEAD}kubeReserved: {{cpu: lots, memory: 1Gi}}")
    found = read_settings(tmp_path)
    assert found is not None
    assert found[0].reserved == {"memory": 1024**3}
    assert [told.split(": ")[:2] for told in found[1]] == [
        [f"{tmp_path / CONFIG}", "kubeReserved.cpu"]
    ]
    drop_in(tree, "1.conf", "cpuManagerPolicy: 5")
    found = read_settings(tmp_path, None, DROP_INS)
    assert found is not None
    files = f"{tmp_path / CONFIG} with {tmp_path}{DROP_INS}"
    assert [told.startswith(f"{files}: ") for told in found[1]] == [True, True]


def test_an_object_used_twice_and_a_merged_key_are_given_once(tmp_path: Path) -> None:
    Tree(tmp_path).file(
        CONFIG,
        "systemReserved: &half {cpu: 500m, memory: 1Gi}\n"
        "kubeReserved: {<<: *half, memory: 2Gi}\n"
        "evictionSoft: *half",
    )
    assert read(tmp_path).reserved == {"cpu": 1000, "memory": 3 * 1024**3}


def test_aliases_of_aliases_cost_no_more_than_their_text(tmp_path: Path) -> None:
    lists = "\n".join(f"l{i}: &l{i} [*l{i - 1}, *l{i - 1}, *l{i - 1}]" for i in range(1, 60))
    maps = "\n".join(f"m{i}: &m{i} {{a: *m{i - 1}, b: *m{i - 1}}}" for i in range(1, 60))
    bombs = f"l0: &l0 [x]\n{lists}\nm0: &m0 {{}}\n{maps}\ncpuManagerPolicy: *l59\nkind: null"
    Tree(tmp_path).file(CONFIG, bombs).file(f"{DROP_INS.relative_to('/')}/1.conf", bombs)
    # kubelet's own reader refuses such a text as well.
    with pytest.raises(SourceError, match=r"config.yaml: not YAML: aliases .* make too much"):
        read_settings(tmp_path, None, DROP_INS)


@settings(deadline=None, max_examples=200)
@given(
    st.text(max_size=30)
    | st.lists(
        st.sampled_from(
            [
                *("a", ": ", "\n", "- ", "{", "}", "[", "]", ", ", "? ", "'", "&x ", "*x", "<<"),
                *("!!int ", "!!float ", "!!set ", "!!pairs ", "!!binary ", "!!timestamp "),
                *("1:0", ".", "0x"),
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_no_text_gives_anything_but_yaml_or_a_value_error(text: str) -> None:
    try:
        parse_yaml(text)
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017

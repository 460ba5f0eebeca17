"""The part of a description that is about PCI devices and their NVIDIA driver."""

from dataclasses import replace

from .devices import AMD_PORTS, ASPEED_BRIDGE, ENDPOINTS, ROOT_PORTS, SWITCH_PORT, Template
from .section import Section
from .spec import Bridge, Endpoint, Item, Node, Nvidia, Root

_BRIDGES = "port, switch, aspeed, amd-gpu"


def read_roots(top: Section, nodes: tuple[Node, ...], arch: str) -> tuple[Root, ...]:
    """The PCI root complexes in `pci`, by address."""
    known = {-1} | {node.id for node in nodes}
    roots: list[Root] = []
    for section in top.sections("pci"):
        node = section.integer("node")
        if node not in known:
            raise section.wrong("node", f"no node {node}")
        items = tuple(
            _item(section, item, arch, on_root=True) for item in section.items("devices")
        )
        addresses = section.items("roots")
        section.done()
        for address in addresses:
            domain, bus = _root_address(section, address)
            roots.append(Root(domain=domain, bus=bus, node=node, items=items))
    return tuple(sorted(roots, key=lambda root: (root.domain, root.bus)))


def _root_address(section: Section, address: object) -> tuple[int, int]:
    try:
        domain, bus = str(address).split(":")
        return int(domain, 16), int(bus, 16)
    except ValueError as error:
        problem = f'expected texts such as "0000:18", found {address!r}'
        raise section.wrong("roots", problem) from error


def _item(section: Section, item: object, arch: str, *, on_root: bool) -> Item:
    """One entry of `devices`: a device's name, alone or with changes, or a kind of bridge."""
    if isinstance(item, str):
        return Endpoint(template=_template(section, item))
    if not isinstance(item, dict) or len(item) != 1:
        problem = f"expected a name or {{port|switch|aspeed: [...]}}, found {item!r}"
        raise section.wrong("devices", problem)
    ((kind, behind),) = item.items()
    if kind in ENDPOINTS:
        return _endpoint(Section(f"{section.where}: {kind}", behind), ENDPOINTS[kind])
    if not isinstance(behind, list):
        raise section.wrong("devices", f"{kind}: expected a list, found {behind!r}")
    children = tuple(_item(section, child, arch, on_root=False) for child in behind)
    if kind == "port":
        return Bridge(ROOT_PORTS[arch], children)
    if kind == "aspeed":
        return Bridge(ASPEED_BRIDGE, children)
    if kind == "amd-gpu":
        upstream, downstream = AMD_PORTS
        return Bridge(upstream, (Bridge(downstream, children),))
    if kind != "switch":
        raise section.wrong("devices", f"{kind!r} is none of {_BRIDGES}")
    switch = Bridge(SWITCH_PORT, tuple(Bridge(SWITCH_PORT, (child,)) for child in children))
    return Bridge(ROOT_PORTS[arch], (switch,)) if on_root else switch


def _endpoint(section: Section, template: Template) -> Endpoint:
    """A device that differs from its kind, or from what its root says of it."""
    endpoint = Endpoint(
        template=replace(template, driver=section.text("driver", template.driver)),
        numa_node=section.integer("numa_node") if "numa_node" in section else None,
        local_cpus=section.id_set("local_cpus") if "local_cpus" in section else None,
        vfs=section.integer("vfs", 0),
    )
    section.done()
    if endpoint.vfs and not template.vf_device:
        raise section.wrong("vfs", "no virtual function of this device is known")
    return endpoint


def _template(section: Section, name: str) -> Template:
    if name not in ENDPOINTS:
        raise section.wrong("devices", f"{name!r} is none of {', '.join(ENDPOINTS)}")
    return ENDPOINTS[name]


def read_nvidia(section: Section) -> Nvidia:
    """The NVIDIA driver in `nvidia`."""
    switched = section.raw("nvlink", []) == "switch"
    form = "switch or [[GPU, GPU, links]]"
    nvidia = Nvidia(
        driver=section.text("driver", "580.95.05"),
        cuda=section.integer("cuda", 13000),
        init_error=section.text("init_error", ""),
        lacks=tuple(map(str, section.items("lacks"))),
        switched=switched,
        links=() if switched else section.rows("nvlink", 3, form),
        clique=section.integer("clique") if "clique" in section else None,
        lost=section.integers("lost"),
        memory_nodes=section.counts("memory_nodes"),
        mig={gpu: _profiles(section, value) for gpu, value in section.numbered("mig").items()},
        changes={gpu: _change(section, v) for gpu, v in section.numbered("changes").items()},
    )
    section.done()
    return nvidia


def _profiles(section: Section, value: object) -> tuple[str | None, ...]:
    if not isinstance(value, list):
        raise section.wrong("mig", f"expected a list of profiles, found {value!r}")
    return tuple(None if profile is None else str(profile) for profile in value)


def _change(section: Section, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise section.wrong("changes", f"expected a mapping of answers, found {value!r}")
    return {str(key): answer for key, answer in value.items()}

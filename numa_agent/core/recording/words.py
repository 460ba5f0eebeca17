"""Texts that are harmless as they are, and what stands for the others: one function a kind.

What is kept is listed or has a form that can say nothing else: numbers, CPU lists, quantities, PCI
addresses, and words that the whole world uses. Everything else is a name.
"""

import re
from collections.abc import Collection

from numa_agent.core import cpulist, quantity
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.pci import PciAddress
from numa_agent.core.placeless import DRIVERS as PLACELESS_DRIVERS
from numa_agent.core.placeless import placeless
from numa_agent.core.pod_reasons import MEANINGS, OUT_OF
from numa_agent.core.recording.pseudonyms import Kind, Names
from numa_agent.core.recording.vocabulary import (
    CLASSES,
    DOMAINS,
    DRIVERS,
    MANAGERS,
    NATIVE,
    PRODUCTS,
    RUNTIMES,
)

_HUGE_PAGES = re.compile(r"hugepages-[1-9]\d{0,8}[KMGTPE]i")
_GENERATED = re.compile(r"attachable-volumes-(?:aws-ebs|gce-pd|azure-disk|cinder)")

_PRODUCT = re.compile(
    r"[A-Z]{0,2}\d{1,4}[A-Z]{0,2}|\d{1,5}|\d{1,3}[cg]|\d{1,4}(?:gb|GB|GHz|MHz|MB|TB)|[SO]XM\d?|v\d{1,2}"
    r"|HBM\d?e?|POWER\d{1,2}|Ascend\d{3}[A-Z]?|MI\d{3}[A-Z]?"
)
_BETWEEN = re.compile(r"([^A-Za-z0-9]+)")
_CPU_KIND = re.compile(r"core|atom|lowpower|capacity-\d{1,6}")
_VERSION = re.compile(r"\d{1,6}(?:\.\d{1,6}){0,4}")
_KUBELET = re.compile(r"v?\d{1,3}\.\d{1,3}\.\d{1,4}")

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")
_CONTAINER_ID = re.compile(r"[0-9a-f]{64}")
_UNIT = re.compile(
    r"(?P<mark>(?:GPU-|MIG-|MIG-GPU-)?)(?P<uuid>[0-9a-f-]{36})(?P<rest>(?:/\d{1,3}){0,2})"
)
_NUMBERED = re.compile(
    r"(?:nvidia|card|renderD|accel|davinci|Ascend\d{3}[A-Z]?-|mlx5_)?\d{1,4}(?:-\d{1,4})?"
)

# systemd.net-naming-scheme(7), without the scheme that spells a MAC address (enx...).
_INTERFACE = re.compile(
    r"(?:eth|ib|usb|bond|hsn)\d{1,3}"
    r"|(?:en|ib|wl|ww|sl|roce)(?:P\d{1,5})?(?:p\d{1,3})?(?:s|o)\d{1,5}"
    r"(?:f\d{1,3})?(?:n(?:p|s|d)?\d{1,3}|d\d{1,5})?(?:v\d{1,3})?"
    r"|(?:mlx[45]|mlx5_bond|bnxt_re|irdma|efa|hfi1|hns|qedr|rxe|siw)_?\d{1,3}"
)


def listed(names: Names, text: str, known: Collection[str]) -> str:
    """One of the known words, else what stands for it."""
    return text if text in known else names.word(text)


def reason(names: Names, text: str) -> str:
    """kubelet's word for why it refused or ended a pod; a resource that lacked is part of it."""
    lacked = text.removeprefix(OUT_OF)
    return (
        f"{OUT_OF}{resource(names, lacked)}" if lacked != text else listed(names, text, MEANINGS)
    )


def version(names: Names, text: str) -> str:
    """A version of numbers."""
    return text if _VERSION.fullmatch(text) else names.word(text)


def kubelet_version(names: Names, text: str) -> str:
    """kubelet's version without what a distribution adds to it."""
    match = _KUBELET.match(text)
    if names.keep or match is None:
        return names.word(text)
    return match[0]


def cpus(names: Names, text: str) -> str:
    """A list of CPUs or nodes."""
    return text if _reads(cpulist.parse, text) else names.word(text)


def cpu_kind(names: Names, text: str) -> str:
    """The name of a kind of CPUs in the map."""
    return text if _CPU_KIND.fullmatch(text) else names.word(text)


def amount(names: Names, text: str) -> str:
    """A quantity, or a percentage."""
    number = text.removesuffix("%")
    return text if _reads(quantity.parse, number) else names.word(text)


def _reads(parse: object, text: str) -> bool:
    try:
        result: CpuSet | object = parse(text)  # type: ignore[operator]
    except ValueError:
        return False
    return result is not None


def uuid(names: Names, text: str) -> str:
    """A pod's or Node's uid, a static pod's hash, a boot's id; `_` may stand for `-`."""
    if names.keep:
        return text
    plain = text.replace("_", "-")
    if _UUID.fullmatch(plain) is None:
        return names.word(text)
    found = names.of(Kind.UUID, plain)
    return found.replace("-", "_") if "_" in text else found


def container_id(names: Names, text: str) -> str:
    """A container's id as a status has it, `containerd://` before 64 digits."""
    runtime, mark, number = text.partition("://")
    if not mark or _CONTAINER_ID.fullmatch(number) is None:
        return names.word(text)
    return f"{listed(names, runtime, RUNTIMES)}://{names.of(Kind.CONTAINER_ID, number)}"


def domain(names: Names, text: str) -> str:
    """A vendor's domain, or one of Kubernetes' own."""
    if text in DOMAINS or names.keep:
        return names.known(Kind.DOMAIN, text)
    own, native = text.removesuffix(".kubernetes.io"), text.endswith(".kubernetes.io")
    return names.of(Kind.DOMAIN, own) + (".kubernetes.io" if native else ".example")


def resource(names: Names, text: str) -> str:
    """A resource's name; those that Kubernetes itself knows stay such."""
    if names.keep or text in NATIVE or _HUGE_PAGES.fullmatch(text) or _GENERATED.fullmatch(text):
        return names.known(Kind.DOMAIN, text)
    place, slash, name = text.partition("/")
    if not slash:
        return names.of(Kind.RESOURCE, text)
    kept = is_product(name) or placeless(text)
    shown = (names.known if kept else names.of)(Kind.RESOURCE, name)
    return f"{domain(names, place)}/{shown}"


def unit(names: Names, text: str) -> str:
    """A device's id as its plugin and NVML give it; `::1` is a plugin's word for a share."""
    if names.keep:
        return text
    base, mark, share = text.partition("::")
    if mark and not (share.isascii() and share.isdecimal()):
        return names.of(Kind.DEVICE, text)
    return f"{_unit(names, base)}{mark}{share}"


def _unit(names: Names, text: str) -> str:
    match = _UNIT.fullmatch(text)
    if match is not None and _UUID.fullmatch(match["uuid"]):
        return f"{match['mark']}{names.of(Kind.UUID, match['uuid'])}{match['rest']}"
    if is_address(text) or _NUMBERED.fullmatch(text):
        return text
    return names.of(Kind.DEVICE, text)


def driver_domain(names: Names, text: str) -> str:
    """A driver of dynamic resource allocation: a name below its vendor's domain."""
    if names.keep or text in PLACELESS_DRIVERS:
        return text
    labels = text.split(".")
    for position in range(len(labels) - 1):
        below = ".".join(labels[position:])
        if below in DOMAINS:
            shown = [
                label if is_product(label) else names.word(label) for label in labels[:position]
            ]
            return ".".join((*shown, below))
    return domain(names, text)


def cdi_device(names: Names, text: str) -> str:
    """A CDI device, `vendor/class=name`."""
    kind, equals, name = text.partition("=")
    if not equals:
        return names.word(text)
    return f"{resource(names, kind)}={unit(names, name)}"


def interface(names: Names, text: str) -> str:
    """A network interface or RDMA device."""
    return (names.known if _INTERFACE.fullmatch(text) else names.of)(Kind.INTERFACE, text)


def driver(names: Names, text: str) -> str:
    """A kernel driver."""
    return text if text in DRIVERS else names.of(Kind.DRIVER, text)


def manager(names: Names, text: str) -> str:
    """A field manager."""
    return text if text in MANAGERS else names.of(Kind.MANAGER, text)


def runtime_class(names: Names, text: str) -> str:
    """A RuntimeClass."""
    return text if text in CLASSES else names.of(Kind.CLASS, text)


def product(names: Names, text: str) -> str:
    """What a product is called, word by word."""
    if names.keep:
        return text
    parts = _BETWEEN.split(text)
    return "".join(
        part
        if (place % 2 and part.isascii() and part.isprintable()) or _is_product(part)
        else names.word(part)
        for place, part in enumerate(parts)
    )


def is_product(text: str) -> bool:
    """Whether every word of a text is one of products' names."""
    return all(map(_is_product, _BETWEEN.split(text)[::2])) and text.isascii()


def _is_product(word: str) -> bool:
    return not word or word in PRODUCTS or _PRODUCT.fullmatch(word) is not None


def is_address(text: str) -> bool:
    """Whether a text is a PCI address."""
    return _reads(PciAddress.parse, text)

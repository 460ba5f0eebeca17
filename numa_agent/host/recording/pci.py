"""Looking for PCI functions, which have their places in the chain of bridges above them."""

import re

from numa_agent.config import PCI_DIR
from numa_agent.core.devices import NVIDIA
from numa_agent.core.recording import contents, rules, words
from numa_agent.core.recording.pseudonyms import Names
from numa_agent.host.recording.machine import SMALL, find_within, is_text
from numa_agent.host.recording.plain import LeftOutError
from numa_agent.host.recording.spots import Finds, FoundFile, FoundFolder, FoundLink, Spot, spot_of
from numa_agent.host.recording.tree import Parts

_HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_ABOVE_PCI = {"sys", "devices", "bus", "pci", "drivers", "platform", "virtual", ".."}


def find_pci(finds: Finds) -> None:
    """PCI functions: each a link into the chain of bridges, which is its place."""
    try:
        real = finds.tree.resolve(PCI_DIR)
        listed, whole = finds.tree.names(real)
    except LeftOutError as error:
        if not error.missing:
            finds.leave_out(spot_of(PCI_DIR), str(error))
        return
    spot = spot_of(PCI_DIR)
    finds.add(FoundFolder(spot))
    if not whole:
        finds.leave_out(spot, f"over {len(listed)} names in it: those after the first")
    for name in listed:
        if words.is_address(name):
            _function(finds, spot.below(name), (*real, name))
        elif is_text(name):
            finds.leave_out(spot.below(name, Names.word), "no PCI address")


def _function(finds: Finds, spot: Spot, real: Parts) -> None:
    if not finds.tree.is_link(real):
        find_within(finds, spot, real, rules.PCI)
        return
    try:
        target = finds.tree.resolve(real)
    except LeftOutError as error:
        finds.leave_out(spot, "a link that leads nowhere" if error.missing else str(error))
        return
    if not all(map(is_text, target)):
        finds.leave_out(spot, "a link to a name that can't be shown")
        return
    place = spot_of(target, pci_part)
    finds.add(FoundLink(spot, place))
    find_within(finds, place, target, rules.PCI)


def pci_part(names: Names, name: str) -> str:
    """A name in the path of a PCI function."""
    kept = name in _ABOVE_PCI or _HOST_BRIDGE.fullmatch(name) or words.is_address(name)
    return name if kept else names.word(name)


def has_nvidia(finds: Finds) -> bool:
    """Whether a PCI function found is NVIDIA's."""
    vendors = (
        each
        for each in finds.found
        if isinstance(each, FoundFile)
        and each.spot.name == "vendor"
        and each.form is contents.codes
    )
    return any(_says(finds, each, f"0x{NVIDIA:04x}") for each in vendors)


def _says(finds: Finds, file: FoundFile, text: str) -> bool:
    try:
        return finds.tree.read(file.real, SMALL).strip() == text.encode()
    except LeftOutError:
        return False

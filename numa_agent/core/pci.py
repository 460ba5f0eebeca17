"""One value for a PCI function's address, whichever way a source spells it.

sysfs writes `0000:3b:00.0`, NVML `00000000:3B:00.0`, and a domain may need more than four digits
(Intel VMD starts at 10000). The form is that of Documentation/ABI/testing/sysfs-bus-pci:
https://docs.kernel.org/admin-guide/abi-testing.html
"""

import re
from typing import NamedTuple

_ADDRESS = re.compile(
    r"(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{2}):(?P<device>[0-9a-f]{2})\.(?P<function>[0-7])",
    re.IGNORECASE,
)


class PciAddress(NamedTuple):
    """Domain (32 bits), bus, device and function of one PCI function, in the kernel's order.

    A tuple, since maps hold hundreds of them as keys.
    """

    domain: int
    bus: int
    device: int
    function: int

    @classmethod
    def parse(cls, text: str) -> "PciAddress":
        """The address a text names, in either case, with 4 to 8 domain digits or none (domain 0).

        Raises ValueError with the text for anything else.
        """
        match = _ADDRESS.fullmatch(text)
        if match is None:
            raise ValueError(f"not a PCI address: {text!r} (expected something like 0000:3b:00.0)")
        domain, bus, device, function = match.groups()
        number = int(device, 16)
        if number > 0x1F:
            raise ValueError(f"not a PCI address: {text!r} (device {device} is above 1f)")
        return cls(int(domain or "0", 16), int(bus, 16), number, int(function))

    def __str__(self) -> str:
        """The sysfs spelling, with at least four domain digits."""
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}.{self.function}"

"""Kubernetes' quantities, such as `100m`, `1.5Gi` and `2e3`, as exact whole numbers.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

import re
from fractions import Fraction

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30}))"
    r"(?P<suffix>[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,2})?",
    re.ASCII,
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def parse(text: str) -> Fraction:
    """The exact number that a quantity is. Raises ValueError with the text for anything else."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"not a quantity: {text[:60]!r} (expected something like 100m or 2Gi)")
    number, suffix = Fraction(match["number"]), match["suffix"] or ""
    if suffix in _BINARY:
        return number * Fraction(1024 ** (_BINARY.index(suffix) + 1))
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    scale = Fraction(10 ** abs(exponent))
    return number * scale if exponent >= 0 else number / scale


def whole(text: str) -> int:
    """The quantity in whole units (bytes, devices), rounded up. Raises ValueError."""
    return _up(parse(text))


def milli(text: str) -> int:
    """The quantity in thousandths, as CPU time is counted, rounded up. Raises ValueError."""
    return _up(parse(text) * 1000)


def amount(resource: str, text: str) -> int:
    """A resource's quantity in our unit: thousandths for `cpu`, else whole units (bytes, devices).

    Raises ValueError.
    """
    return milli(text) if resource == "cpu" else whole(text)


def binary(number: int) -> str:
    """The canonical text of a byte count: the largest power of 1024 that divides it, `64Gi`."""
    power = 0
    while number and number % 1024 == 0 and power < len(_BINARY):
        number //= 1024
        power += 1
    return f"{number}{_BINARY[power - 1] if power else ''}"


def _up(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)

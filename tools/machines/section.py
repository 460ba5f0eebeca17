"""Typed access to one mapping of a YAML description; a mistake names the file and the key."""

import re

from numa_agent.core.cpulist import CpuListError, CpuSet, parse

_SIZE = re.compile(r"(\d+)(|Ki|Mi|Gi|Ti)")
_SHIFTS = {"": 0, "Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}


class SpecError(ValueError):
    """A description that makes no machine; the message names the file, the key and the value."""


class Section:
    """One mapping, read key by key; `done` then refuses the keys that nobody asked for.

    An accessor without a default demands its key. `where` reads like `x.yaml: pods[0]`.
    """

    def __init__(self, where: str, data: object) -> None:
        if not isinstance(data, dict):
            raise SpecError(f"{where}: expected a mapping, found {data!r}")
        self.where = where
        self._data: dict[object, object] = data
        self._read: set[object] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def wrong(self, key: str, problem: str) -> SpecError:
        """The error to raise for `key`, naming where it stands."""
        return SpecError(f"{self.where}: {key}: {problem}")

    def raw(self, key: str, default: object = None) -> object:
        """The value of `key` as YAML gives it; a missing key is the default, None an error."""
        self._read.add(key)
        value = self._data.get(key, default)
        if value is None:
            raise self.wrong(key, "missing")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A string; YAML's other scalars are refused, so that `0000:18` has to be quoted."""
        value = self.raw(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, f"expected a text, found {value!r} (quote it)")
        return value.strip()

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number."""
        value = self.raw(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(key, f"expected a whole number, found {value!r}")
        return value

    def flag(self, key: str) -> bool:
        """True or false, false where the key is missing."""
        value = self.raw(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, f"expected true or false, found {value!r}")
        return value

    def choice(self, key: str, options: tuple[str, ...], default: str | None = None) -> str:
        """One of `options`."""
        value = self.text(key, default)
        if value not in options:
            raise self.wrong(key, f"{value!r} is none of {', '.join(options)}")
        return value

    def id_set(self, key: str, default: str | None = None) -> CpuSet:
        """A kernel list such as `"0-3,8"`, or one number."""
        value = self.raw(key, default)
        try:
            return parse(str(value))
        except CpuListError as error:
            raise self.wrong(key, str(error)) from error

    def size(self, key: str, default: str | None = None) -> int:
        """A size in bytes, written as `512`, `64Ki`, `80Gi`, `1Ti`."""
        value = str(self.raw(key, default))
        match = _SIZE.fullmatch(value)
        if match is None:
            raise self.wrong(key, f"expected a size such as 96Gi, found {value!r}")
        return int(match[1]) << _SHIFTS[match[2]]

    def items(self, key: str) -> list[object]:
        """A list, empty where the key is missing."""
        value = self.raw(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, f"expected a list, found {value!r}")
        return value

    def integers(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers, empty where the key is missing."""
        values = self.items(key)
        wrong = [value for value in values if type(value) is not int]
        if wrong:
            raise self.wrong(key, f"expected whole numbers, found {wrong[0]!r}")
        return tuple(value for value in values if isinstance(value, int))

    def rows(self, key: str, width: int, form: str) -> tuple[tuple[int, ...], ...]:
        """A list of lists of `width` whole numbers, empty where the key is missing."""
        rows: list[tuple[int, ...]] = []
        for row in self.items(key):
            if not isinstance(row, list) or [type(number) for number in row] != [int] * width:
                raise self.wrong(key, f"expected {form}, found {row!r}")
            rows.append(tuple(row))
        return tuple(rows)

    def texts(self, key: str) -> dict[str, str]:
        """A mapping of texts to texts, empty where the key is missing."""
        return {str(name): str(value) for name, value in self._mapping(key).items()}

    def numbered(self, key: str) -> dict[int, object]:
        """A mapping whose keys are whole numbers, empty where the key is missing."""
        values: dict[int, object] = {}
        for number, value in self._mapping(key).items():
            if not isinstance(number, int):
                raise self.wrong(key, f"expected a whole number as key, found {number!r}")
            values[number] = value
        return values

    def counts(self, key: str) -> dict[int, int]:
        """A mapping of whole numbers to whole numbers, empty where the key is missing."""
        counts: dict[int, int] = {}
        for number, value in self.numbered(key).items():
            if not isinstance(value, int):
                raise self.wrong(key, f"expected a whole number, found {value!r}")
            counts[number] = value
        return counts

    def set_counts(self, key: str) -> list[tuple[CpuSet, int]]:
        """A mapping of kernel lists to whole numbers, in its order; none where it is missing."""
        counts: list[tuple[CpuSet, int]] = []
        for text, value in self._mapping(key).items():
            if type(value) is not int:
                raise self.wrong(key, f"expected a whole number, found {value!r}")
            try:
                counts.append((parse(str(text)), value))
            except CpuListError as error:
                raise self.wrong(key, str(error)) from error
        return counts

    def _mapping(self, key: str) -> dict[object, object]:
        value = self.raw(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, f"expected a mapping, found {value!r}")
        return value

    def section(self, key: str) -> "Section":
        """The mapping at `key`, an empty one where the key is missing."""
        return Section(f"{self.where}: {key}", self.raw(key, {}))

    def sections(self, key: str) -> list["Section"]:
        """The mappings of the list at `key`, none where the key is missing."""
        return [
            Section(f"{self.where}: {key}[{position}]", item)
            for position, item in enumerate(self.items(key))
        ]

    def done(self) -> None:
        """Refuses the first key that no accessor has read."""
        for key in self._data:
            if key not in self._read:
                known = ", ".join(sorted(map(str, self._read)))
                raise self.wrong(str(key), f"unknown key (known: {known})")

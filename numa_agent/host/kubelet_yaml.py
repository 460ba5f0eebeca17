"""The YAML of kubelet's configuration files, and a key that one of its objects has twice."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaml.nodes import Node

_FEW = 100_000
"""Values that aliases may make of any text; kubelet's configuration has some hundreds."""


def parse_yaml(content: str) -> tuple[object, str | None]:
    """What a YAML text says, and a key that is given more than once, None where none is.

    The last value of such a key counts. Raises ValueError for what isn't one document of YAML, and
    for one that aliases make huge, which kubelet's own reader refuses as well.
    """
    # yaml is loaded only where there is a file to read.
    import yaml

    try:
        loader = yaml.SafeLoader(content)
        try:
            node = loader.get_single_node()
            if node is None:
                return None, None
            # Before the objects are made, which writes merged keys (`<<`) out into the nodes.
            repeated = _repeated(node)
            if _written_out(node) > max(_FEW, len(content)):
                raise ValueError("aliases (`*`) make too much of it")
            return loader.construct_document(node), repeated
        finally:
            loader.dispose()
    except RecursionError:
        raise ValueError("nested too deep") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(" ".join(str(error).split())) from error
    except (LookupError, AttributeError, TypeError, ArithmeticError) as error:
        # PyYAML's answers to `!!bool x`, `!!timestamp x` and the like.
        raise ValueError("a value doesn't fit its tag or type") from error


def _written_out(top: "Node") -> int:
    """How many values it is with each alias written out; one that holds itself is one."""
    sizes: dict[int, int] = {}
    left: list[tuple[Node, bool]] = [(top, False)]
    while left:
        node, are_known = left.pop()
        if are_known:
            sizes[id(node)] = 1 + sum(sizes[id(each)] for each in _within(node))
        elif id(node) not in sizes:
            sizes[id(node)] = 1
            left.append((node, True))
            left += [(each, False) for each in _within(node)]
    return sizes[id(top)]


def _within(node: "Node") -> "list[Node]":
    from yaml.nodes import MappingNode, SequenceNode

    if isinstance(node, MappingNode):
        return [each for pair in node.value for each in pair]
    return list(node.value) if isinstance(node, SequenceNode) else []


def _repeated(top: "Node") -> str | None:
    from yaml.nodes import MappingNode, ScalarNode, SequenceNode

    left: list[Node] = [top]
    seen: set[int] = set()
    while left:
        node = left.pop()
        # An alias is the same node again.
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, SequenceNode):
            left += node.value
        elif isinstance(node, MappingNode):
            keys: set[str] = set()
            for key, value in node.value:
                left.append(value)
                if isinstance(key, ScalarNode):
                    if key.value in keys:
                        return str(key.value)
                    keys.add(key.value)
    return None

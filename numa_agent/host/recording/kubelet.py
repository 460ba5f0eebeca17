"""kubelet's files for a recording: its configuration as one document, and its managers' states.

They are read by the rules of host.kubelet, from the tree and within bounds. A file that can't be
read there comes in as one that can't be read either.
"""

from collections.abc import Callable, Iterator, Mapping

from numa_agent.config import KUBELET_DIR
from numa_agent.core.documents import Document
from numa_agent.core.kubelet_config import KIND, merge, parse_settings
from numa_agent.core.recording import kubelet
from numa_agent.core.recording.pseudonyms import Names
from numa_agent.host.kubelet_yaml import parse_yaml
from numa_agent.host.recording.plain import LeftOutError
from numa_agent.host.recording.tree import Parts, Tree

Written = Callable[[Names], str]
"""A text with pseudonyms in the place of names."""

CONFIG = f"{KUBELET_DIR}/config.yaml"
STATES: Mapping[str, Callable[[str, Names], str]] = {
    f"{KUBELET_DIR}/cpu_manager_state": kubelet.cpu_state,
    f"{KUBELET_DIR}/memory_manager_state": kubelet.memory_state,
}
_LARGE = 1 << 24
_MOST_DROP_INS = 1000
_MOST_DEPTH = 16


def read_config(tree: Tree, config_file: str | None, drop_in_dir: str | None) -> Document | None:
    """kubelet's file with its drop-ins laid over it; None where it has neither.

    Raises LeftOutError where a pass couldn't read them.
    """
    main = _document(tree, config_file or f"/{CONFIG}")
    if main is None and config_file is not None:
        raise LeftOutError("kubelet's configuration isn't where it was said to be")
    drop_ins = [] if drop_in_dir is None else list(_drop_ins(tree, drop_in_dir))
    if main is None and not drop_ins:
        return None
    return merge([{"evictionHard": {}} if main is None else main, *drop_ins])


def cgroup_root(document: Document | None) -> str:
    """The cgroupRoot that a configuration names, "" where none."""
    return "" if document is None else parse_settings(document)[0].cgroup_root


def written_config(document: Document) -> Written:
    """The configuration as a file."""

    def written(names: Names) -> str:
        import yaml

        found: str = yaml.safe_dump(kubelet.config(document, names), sort_keys=False, width=1000)
        return found

    return written


def read_state(tree: Tree, path: str) -> tuple[Written, str | None] | None:
    """A manager's state as a file, and why it is a stand-in if it is; None where there is none."""
    reduce = STATES[path]
    try:
        content = _text(tree, tuple(path.split("/")))
    except LeftOutError as error:
        return (lambda _: kubelet.UNREADABLE_STATE), str(error)
    if content is None:
        return None
    damaged = reduce(content, Names(b"")) == kubelet.UNREADABLE_STATE
    why = "it can't be understood" if damaged else None
    return (lambda names: reduce(content, names)), why


def _document(tree: Tree, path: str) -> Document | None:
    content = _text(tree, tuple(name for name in path.split("/") if name))
    if content is None:
        return None
    try:
        value, repeated = parse_yaml(content)
    except ValueError as error:
        raise LeftOutError("it isn't YAML") from error
    if repeated is not None:
        raise LeftOutError("it gives a key more than once")
    if not isinstance(value, Mapping):
        raise LeftOutError("it is no object of YAML")
    if value.get("kind") not in {None, KIND}:
        raise LeftOutError(f"it is no {KIND}")
    return value


def _text(tree: Tree, path: Parts) -> str | None:
    """A file's text, None where there is none; a link that leads nowhere is a fault."""
    try:
        return tree.read(tree.resolve(path), _LARGE).decode()
    except LeftOutError as error:
        if error.missing and not tree.is_link(path):
            return None
        raise
    except UnicodeDecodeError as error:
        raise LeftOutError("it isn't text") from error


def _drop_ins(tree: Tree, folder: str) -> Iterator[Document]:
    real = tree.resolve(folder)
    files = sorted(_files(tree, real, _MOST_DEPTH))
    if len(files) > _MOST_DROP_INS:
        raise LeftOutError(f"over {_MOST_DROP_INS} drop-ins")
    for file in files:
        document = _document(tree, "/".join(file))
        if document is not None:
            yield document


def _files(tree: Tree, folder: Parts, depth: int) -> Iterator[Parts]:
    names, whole = tree.names(folder)
    if not whole or depth == 0:
        raise LeftOutError("too much in kubelet's drop-in folder")
    for name in names:
        if tree.is_folder((*folder, name)):
            yield from _files(tree, (*folder, name), depth - 1)
        elif name.endswith(".conf"):
            yield (*folder, name)

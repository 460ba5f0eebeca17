"""A thing that somebody is told of: about which object, for which reason, in which words."""

from dataclasses import dataclass
from enum import StrEnum

from numa_agent.core.pods import Pod


class Kind(StrEnum):
    """The type of an Event, in the API's own words."""

    NORMAL = "Normal"
    WARNING = "Warning"


class About(StrEnum):
    """The kind of object that an Event is about."""

    POD = "Pod"
    NODE = "Node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why an Event is made: a word that programs and people select by, stable.

    A fault is told once it has lasted for `patience` seconds; what is over before that nobody can
    act on. `volatile` says that the words hold numbers which change by themselves, so that other
    words don't make another Event. What `lasting` is False for happens at one moment.
    """

    name: str
    kind: Kind = Kind.WARNING
    about: About = About.POD
    patience: float = 0.0
    volatile: bool = False
    lasting: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The object that an Event is about; a Node has no namespace, which is "" here."""

    about: About
    name: str
    uid: str
    namespace: str = ""

    @property
    def full_name(self) -> str:
        """Namespace and name, as people write them."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


Identity = tuple[Subject, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing to tell; `key` tells it from others of the same reason about the same object."""

    subject: Subject
    reason: Reason
    message: str
    key: str

    @property
    def identity(self) -> Identity:
        """What is equal for the same thing told again, in this life of the agent or another."""
        return self.subject, self.reason.name, self.key


def about_pod(pod: Pod) -> Subject:
    """A pod, by the uid under which `kubectl describe` looks for its Events.

    A static pod's Events have the uid that kubelet knows it by, the hash of its configuration.
    """
    return Subject(about=About.POD, name=pod.name, uid=pod.cgroup_uid, namespace=pod.namespace)


def about_node(name: str) -> Subject:
    """A Node; kubelet gives its name for its uid, and `kubectl describe` looks for that."""
    return Subject(about=About.NODE, name=name, uid=name)


def notice(subject: Subject, reason: Reason, message: str, key: str = "") -> Notice:
    """A notice that is the same as another by its words, or by `key` where those are volatile."""
    own = key if reason.volatile else message
    return Notice(subject=subject, reason=reason, message=message, key=own)

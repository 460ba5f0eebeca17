"""What a cgroup's refusal means, by the kernel's errno, so that who writes can decide.

https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset and
https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html; errno(3) for the numbers.
"""

import errno

from numa_agent.core import errors
from numa_agent.core.errors import SourceError

HINTS = {
    errno.EACCES: "on cgroup v1 the set must lie within the parent's; else permissions or a"
    " security module forbid it",
    errno.EBUSY: "a cgroup below it holds ids outside the set",
    errno.ENOSPC: "a cgroup with tasks can't be left without a set",
    errno.EINVAL: "a CPU of the set isn't online, or a memory node isn't there",
    errno.ERANGE: "the set names an id that this kernel can't have",
    errno.EOVERFLOW: "the set names an id that this kernel can't have",
    errno.EPERM: "a security module or a cgroup namespace forbids it",
    errno.EAGAIN: "the kernel asks to try again",
    errno.ENOTDIR: "a link or a file is where a cgroup belongs, and is never followed",
    errno.ELOOP: "a link is where a cgroup or its file belongs, and is never followed",
}


class CgroupError(SourceError):
    """One cgroup can't be read or written; `path` is the cgroup's, below the hierarchy's mount."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


class GoneError(CgroupError, errors.GoneError):
    """The cgroup isn't there any more, or not yet: its container or pod has ended or not begun."""


class NotSupportedError(CgroupError):
    """The cgroup is there without this cpuset file: the controller isn't enabled for it."""


class ReadOnlyError(CgroupError):
    """The hierarchy is mounted read-only, so that no cgroup can be written."""


class OwnGroupError(CgroupError):
    """The cgroup is this process's own, whose files its namespace keeps (`nsdelegate`)."""


class RefusedError(CgroupError):
    """The kernel doesn't take the set now; `number` is its errno, `hint` what that says, or ""."""

    def __init__(self, path: str, message: str, number: int, hint: str) -> None:
        super().__init__(path, message)
        self.number = number
        self.hint = hint


class NeverWrittenError(CgroupError):
    """What was to be written is never written: an empty set, or a cgroup that is no pod's."""


class DriverMismatchError(CgroupError):
    """A pod's containers are outside its cgroup: kubelet and the runtime use two cgroup drivers.

    https://kubernetes.io/docs/setup/production-environment/container-runtimes/#cgroup-drivers
    """


def refused(path: str, what: str, error: OSError) -> RefusedError:
    """A kernel's errno as an error that says its meaning; `what` begins the sentence."""
    number = error.errno or 0
    hint = HINTS.get(number, "")
    reason = error.strerror or str(error)
    return RefusedError(path, f"{what}: {reason}{f' ({hint})' if hint else ''}", number, hint)

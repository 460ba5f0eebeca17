"""Settings of the kernel that move memory, or make a process wait for it.

https://docs.kernel.org/admin-guide/sysctl/kernel.html,
https://docs.kernel.org/admin-guide/sysctl/vm.html and
https://docs.kernel.org/admin-guide/mm/transhuge.html
"""

from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Weight

_HUGE = "https://docs.kernel.org/admin-guide/mm/transhuge.html"
_KEEP = "in a file below /etc/sysctl.d keeps it so"

BALANCING = Rule(
    code="numa-balancing-on",
    weight=Weight.NOTE,
    costs="the kernel unmaps pages to see who uses them, which bound pods pay for in page faults"
    " and gain nothing by; pods that share CPUs may gain",
    source="https://docs.kernel.org/admin-guide/sysctl/kernel.html#numa-balancing",
)
TIERING = Rule(
    code="memory-tiering-on",
    weight=Weight.NOTE,
    costs="the kernel moves pages between fast and slow memory nodes by itself",
    source=BALANCING.source,
)
ZONE_RECLAIM = Rule(
    code="zone-reclaim-on",
    weight=Weight.WARNING,
    costs="where a node is full the kernel throws cache of that node away, and a process waits"
    " for that, before it takes memory of another node",
    source="https://docs.kernel.org/admin-guide/sysctl/vm.html#zone-reclaim-mode",
)
HUGE_ALWAYS = Rule(
    code="thp-always",
    weight=Weight.NOTE,
    costs="memory is placed 2 MiB at a time by whoever touches it first: threads of two nodes that"
    " share such a piece are remote to one another, and it grows what pods use",
    source=_HUGE,
)
DEFRAG_ALWAYS = Rule(
    code="thp-defrag-always",
    weight=Weight.WARNING,
    costs="a page fault waits while the kernel compacts memory to make a huge page",
    source=_HUGE,
)
SWAP = Rule(
    code="swap-on",
    weight=Weight.WARNING,
    costs="a page that was swapped out comes back to whatever node is allowed and free then, after"
    " a wait; kubelet doesn't start with it unless failSwapOn is false",
    source="https://kubernetes.io/docs/concepts/cluster-administration/swap-memory-management/",
)


def _balancing(seen: Examination) -> Results:
    told = seen.kernel.numa_balancing
    yield from seen.mapless
    if not seen.several_nodes:
        return
    if told.value is None:
        yield told.unseen
        return
    if told.value & 1:
        yield BALANCING.found(
            "kernel",
            f"{told.source} is {told.value}",
            "sysctl -w kernel.numa_balancing=0 where most of the node's memory belongs to bound"
            f" pods; kernel.numa_balancing = 0 {_KEEP}",
        )
    if told.value & 2:
        yield TIERING.found(
            "kernel",
            f"{told.source} is {told.value}",
            f"sysctl -w kernel.numa_balancing={told.value & 1}, unless a slow memory node is meant"
            " to be used so",
        )


def _zone_reclaim(seen: Examination) -> Results:
    told = seen.kernel.zone_reclaim
    yield from seen.mapless
    if not seen.several_nodes:
        return
    if told.value is None:
        yield told.unseen
    elif told.value:
        yield ZONE_RECLAIM.found(
            "kernel",
            f"{told.source} is {told.value}",
            f"sysctl -w vm.zone_reclaim_mode=0; vm.zone_reclaim_mode = 0 {_KEEP}",
        )


def _huge_pages(seen: Examination) -> Results:
    use, defrag = seen.kernel.huge_pages, seen.kernel.huge_page_defrag
    if use.value is None:
        yield use.unseen
    elif use.value == "always":
        yield HUGE_ALWAYS.found(
            "kernel",
            f"{use.source} is always",
            "transparent_hugepage=madvise on the kernel's command line lets programs ask for them",
        )
    if defrag.value is None:
        yield defrag.unseen
    elif defrag.value == "always" and use.value != "never":
        yield DEFRAG_ALWAYS.found(
            "kernel",
            f"{defrag.source} is always",
            f"echo defer+madvise > /{defrag.source}",
        )


def _swap(seen: Examination) -> Results:
    told = seen.kernel.swap_bytes
    if told.value is None:
        yield told.unseen
    elif told.value:
        yield SWAP.found(
            "kernel",
            f"{told.source} has SwapTotal {told.value // 2**20} MiB",
            "swapoff -a and no swap in /etc/fstab, or memorySwap.swapBehavior: NoSwap in kubelet's"
            " configuration, which keeps pods out of it",
        )


CHECKS = (
    Check(name="numa-balancing", rules=(BALANCING, TIERING), look=_balancing),
    Check(name="zone-reclaim", rules=(ZONE_RECLAIM,), look=_zone_reclaim),
    Check(name="transparent-huge-pages", rules=(HUGE_ALWAYS, DEFRAG_ALWAYS), look=_huge_pages),
    Check(name="swap", rules=(SWAP,), look=_swap),
)

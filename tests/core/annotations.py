"""Annotations for tests: real ones in every language, and JSON of any shape."""

from hypothesis import strategies as st

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 10**17)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner),
    max_leaves=8,
)

REAL: list[tuple[str, str]] = [
    ("scheduling.koordinator.sh/resource-status", '{"cpuset":"2-3"}'),
    (
        "scheduling.koordinator.sh/resource-status",
        '{"cpuset":"2,6","numaNodeResources":[{"node":1,"resources":{"cpu":"2","memory":"4Gi"}}]}',
    ),
    (
        "scheduling.koordinator.sh/resource-status",
        '{"numaNodeResources":[{"node":0,"resources":{"kubernetes.io/batch-cpu":"4k",'
        '"kubernetes.io/batch-memory":"8Gi"}},{"node":1,"resources":{"nvidia.com/gpu":"1"}}]}',
    ),
    ("cpuset", '{"nginx":{"0":{"elems":{"0":{},"1":{},"2":{},"3":{}}}}}'),
    ("cpuset", '{"a":{"0":{"elems":{"2":{}}},"1":{"elems":{"40":{}}}},"b":{}}'),
    ("numa-agent.io/assignment", '{"version": 1, "cpus": "2-5", "mems": "0"}'),
    (
        "numa-agent.io/assignment",
        '{"version": 1, "nodes": "1", "containers": {"app": {"cpus": "2-3", "mems": "0"}}}',
    ),
    (
        "scheduling.alibabacloud.com/numa-topology-spec",
        '{"numaTopologyPolicy": "SingleNUMANode", "singleNUMANodeExclusive": "Preferred"}',
    ),
    ("scheduling.koordinator.sh/numa-topology-spec", '{"numaTopologyPolicy": "Restricted"}'),
]
"""Key and text of annotations that schedulers and people write."""

"""Settings that are right by themselves and can't be together."""

from collections.abc import Iterator, Mapping

from numa_agent.config.given import Given


def contradictions(given: Mapping[str, Given]) -> Iterator[str]:
    """What is wrong with the settings together, each with the place of one of them."""
    directory, cert, key = (
        given.get(name) for name in ("kubeletConfigDir", "metricsTlsCert", "metricsTlsKey")
    )
    source = given.get("kubeletConfig")
    if directory is not None and source is not None and source.value == "configz":
        yield (
            f"{directory.place}: kubeletConfigDir belongs to a file: kubeletConfig: configz asks"
            " the running kubelet, which has read it"
        )
    if cert is not None and key is None:
        yield f"{cert.place}: metricsTlsCert needs metricsTlsKey beside it"
    if key is not None and cert is None:
        yield f"{key.place}: metricsTlsKey needs metricsTlsCert beside it"
    first = cert or key
    metrics = given.get("metrics")
    if first is not None and (metrics is None or metrics.value == "off"):
        which = "metricsTlsCert" if first is cert else "metricsTlsKey"
        yield f"{first.place}: {which} needs metrics: an address, such as 127.0.0.1:9316"

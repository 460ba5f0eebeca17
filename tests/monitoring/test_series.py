"""How scrapes become input series."""

from tests.monitoring.series import PASSES_SECONDS, Scrapes, Series, input_series, series_of

TARGET = {"instance": "a", "node": "n"}
TEXT = """\
# TYPE numa_agent_ready gauge
numa_agent_ready {ready}
# TYPE numa_agent_passes_total counter
numa_agent_passes_total{{outcome="good"}} {passes}
# TYPE numa_agent_last_pass_timestamp_seconds gauge
numa_agent_last_pass_timestamp_seconds {moment}
"""


def text(ready: float, passes: float, moment: float) -> str:
    return TEXT.format(ready=ready, passes=passes, moment=moment)


def written(scrapes: Scrapes, seconds: int = 10) -> dict[str, str]:
    found = input_series(series_of(scrapes, TARGET), seconds)
    return {each["series"].partition("{")[0]: each["values"] for each in found}


def test_gauges_stay_counters_go_on_and_moments_begin_at_the_first_scrape() -> None:
    scrapes = [(1000.0 + n, text(1, 4 + 2 * n, 999 + n)) for n in range(3)]
    assert written(scrapes) == {
        "up": "1.0 1.0 1.0 1.0+0.0x10",
        "numa_agent_ready": "1.0 1.0 1.0 1.0+0.0x10",
        "numa_agent_passes_total": "4.0 6.0 8.0 10.0+2.0x10",
        "numa_agent_last_pass_timestamp_seconds": "-1.0 0.0 1.0 2.0+1.0x10",
    }


def test_a_target_that_is_gone_leaves_stale_series_and_up_stays_0() -> None:
    scrapes = [(1000.0, text(1, 4, 999)), (1001.0, None), (1002.0, None)]
    found = written(scrapes)
    assert found["up"] == "1.0 0.0 0.0 0.0+0.0x10"
    assert found["numa_agent_ready"] == "1.0 stale _"


def test_a_target_that_comes_back_goes_on() -> None:
    scrapes = [(1000.0, text(1, 4, 999)), (1001.0, None), (1002.0, text(1, 0, 1001))]
    assert written(scrapes)["numa_agent_passes_total"] == "4.0 stale 0.0 0.0+0.0x10"


def test_a_counter_that_began_again_goes_on_as_it_grew() -> None:
    scrapes = [(1000.0 + n, text(1, passes, 999)) for n, passes in enumerate((4, 8, 2))]
    assert written(scrapes)["numa_agent_passes_total"] == "4.0 8.0 2.0 5.0+3.0x10"


def test_an_age_that_no_pass_made_young_goes_on_growing() -> None:
    name = "numa_agent_source_age_seconds"
    old = Series(name, {}, tuple(float(n) for n in range(PASSES_SECONDS)))
    young = Series(name, {}, tuple(float(n % 6) for n in range(PASSES_SECONDS)))
    assert (old.pace(()), young.pace(())) == (1.0, 0.0)
    assert young.pace({name}) == 1.0


def test_labels_of_the_target_come_over_those_of_the_series() -> None:
    metric = '# TYPE a gauge\na{node="x",b="say \\"1\\""} 1\n'
    found = input_series(series_of([(0.0, metric)], TARGET), 1)
    assert {
        "series": 'a{b="say \\"1\\"",node="n",instance="a"}',
        "values": "1.0 1.0+0.0x1",
    } in found

"""Results of a search for changes in the history of programs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProgramChange:
    """A change of the level of a program.

    Attributes:
        platform: Platform.
        kind: `"step"`, or `"trend"` if the level drifts over several places.
        previous: Last place before the change.
        place: First place after the change; of a trend, the last place where it rises or falls.
        before_ns: Time before, in nanoseconds.
        after_ns: Time after, in nanoseconds.
        change: Time after over time before, minus 1: 0.03 is 3 % slower.
        p: p-value of the test of both segments; of a trend, the largest.
        is_machine: Whether more than half of the programs of the platform changed at this place.
        values: Number of values of the program.
        workload_key: Workload key of the graph.
        steps: Steps of the configuration.
        graph_id: Identifier of the graph.
        config_id: Identifier of the configuration.
    """

    platform: str
    kind: str
    previous: str
    place: str
    before_ns: float
    after_ns: float
    change: float
    p: float
    is_machine: bool
    values: int
    workload_key: str
    steps: str | None
    graph_id: int
    config_id: int


@dataclass(frozen=True)
class TrendEvent:
    """Changes of several programs at one place.

    Attributes:
        platform: Platform.
        place: First place after the change.
        changed: Number of programs that changed.
        series: Number of programs that were searched.
        is_machine: Whether more than half of the programs changed, and at least two.
    """

    platform: str
    place: str
    changed: int
    series: int
    is_machine: bool


@dataclass(frozen=True)
class Trend:
    """Changes of the level of programs.

    Attributes:
        version: Version of this document.
        order: The places: the key of a label, `"day"` or `"source"`.
        places: Number of places, over all platforms.
        series: Number of programs that were searched.
        short_series: Number of programs with fewer than six values, which were not searched.
        changes: Changes, newest first; at one place the largest first.
        events: Places where programs changed, newest first.
    """

    version: int
    order: str
    places: int
    series: int
    short_series: int
    changes: list[ProgramChange]
    events: list[TrendEvent]

"""Random series for the statistics: what training metrics do, and worse."""

from dataclasses import dataclass

from hypothesis import strategies as st

MAGNITUDES = st.sampled_from([1e-9, 1e-3, 1.0, 1e3, 1e7, 1e12])
SPIKE = 1e14


@dataclass(frozen=True)
class Point:
    """One value, and where it stands: its step (from the attempt's first) and its time in seconds."""

    x: float
    step: int
    time: float


@st.composite
def values(draw: st.DrawFn, max_size: int = 120) -> list[float]:
    """Stretches of constants, ramps, alternation and noise, of wild magnitudes, with spikes between."""
    found: list[float] = []
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["constant", "rising", "falling", "alternating", "decaying", "noise", "spike"]))
        scale, length = draw(MAGNITUDES), draw(st.integers(1, 25))
        level = draw(st.integers(-10, 10)) * draw(MAGNITUDES)
        if kind == "constant":
            found += [level] * length
        elif kind == "rising":
            found += [level + scale * at for at in range(length)]
        elif kind == "falling":
            found += [level - scale * at for at in range(length)]
        elif kind == "alternating":
            found += [level + scale * (-1) ** at for at in range(length)]
        elif kind == "decaying":
            found += [SPIKE * draw(st.sampled_from([0.5, 1e-2, 1e-4])) ** at for at in range(min(length, 8))]
        elif kind == "noise":
            found += [level + scale * k for k in draw(st.lists(st.integers(-100, 100), min_size=1, max_size=length))]
        else:
            found.append(draw(st.sampled_from([SPIKE, -SPIKE])))
    return found[:max_size]


@st.composite
def points(draw: st.DrawFn, max_size: int = 120) -> list[Point]:
    """Values at irregular steps and times."""
    stride = draw(st.sampled_from([1, 10]))
    step, time, found = draw(st.integers(0, 3)), 1.79e9, []
    for x in draw(values(max_size)):
        found.append(Point(x, step, time))
        step += stride * draw(st.sampled_from([1, 1, 1, 1, 2, 40]))
        time += draw(st.sampled_from([0.0, 0.25, 1.0, 1.0, 7.0, 500.0]))
    return found

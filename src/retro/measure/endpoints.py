"""What an experiment can be judged by: the signals that are read, on which scale, and what difference would matter."""

from __future__ import annotations

from math import log
from typing import Final, NamedTuple

from retro.measure.estimate import as_share


class Endpoint(NamedTuple):
    """Something of a session that memory should make better."""

    name: str
    signal: str
    says: str
    more_is_better: bool
    effect: float
    """The smallest difference that is looked for, where the user names none: a share of ratio endpoints."""
    deviation: float
    """Of single sessions, on the scale of the analysis: where there are too few sessions to tell."""
    ratio: bool
    """Whether it is told as more or less in per cent: the analysis looks at logarithms then."""
    floor: float = 0.0
    """What is added before the logarithm is taken, so that nothing is no infinity."""
    unit: float = 1.0
    """So much of the signal is one of what is shown."""

    def scaled(self, value: float) -> float:
        """A reading on the scale of the analysis."""
        return log(max(value / self.unit, 0.0) + self.floor) if self.ratio else value / self.unit

    def shift(self, effect: float) -> float:
        """An effect as a user states it, on the scale of the analysis; without its sign."""
        return log(1 + abs(effect)) if self.ratio else abs(effect)

    def shown(self, difference: float) -> float:
        """A difference on the scale of the analysis, as it is told."""
        return as_share(difference) if self.ratio else difference

    def middle(self, mean: float) -> float:
        """A mean on the scale of the analysis, as it is told: of a ratio the geometric mean."""
        return max(0.0, as_share(mean) + 1 - self.floor) if self.ratio else mean


ENDPOINTS: Final = {
    one.name: one
    for one in (
        Endpoint("outcome", "outcome_probability", "how likely it went well", True, 0.1, 0.35, ratio=False),
        Endpoint("cost", "cost", "what it cost, in dollars", False, 0.2, 1.3, ratio=True, floor=0.01, unit=1e6),
        Endpoint("corrections", "user_correction_count", "times that it was corrected", False, 0.3, 1.0, ratio=False),
        Endpoint(
            "first_edit", "time_to_first_edit_seconds", "seconds to the first edit", False, 0.2, 1.2, True, floor=1.0
        ),
        Endpoint("turns", "user_message_count", "messages of the user", False, 0.2, 0.8, ratio=True, floor=0.5),
    )
}
"""By the name that `--endpoint` takes."""

"""Has the work changed?  Page-Hinkley tests on the features of arriving jobs, and classes that come back.

The two-sided Page-Hinkley test (Page 1954) sums how far values stray from their mean so far, less `delta`, and fires
when the sum has moved by more than `threshold` from its lowest or highest.  It is 20 lines, so no library is needed.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import Floats


class PageHinkley:
    """For a vector of values: fires when any of them has changed."""

    def __init__(self, delta: float, threshold: float) -> None:
        self.delta = delta
        self.threshold = threshold
        self.reset()

    def reset(self) -> None:
        self._count = 0
        self._mean: Floats | None = None

    def update(self, values: Floats) -> bool:
        """Whether a change is found with these values; then everything before is forgotten."""
        if self._mean is None:
            self._mean = values.astype(np.float64)
            self._up = np.zeros(values.size)  # sum of what is above the mean, never below 0
            self._down = np.zeros(values.size)
        self._count += 1
        self._mean += (values - self._mean) / self._count
        self._up = np.maximum(0.0, self._up + values - self._mean - self.delta)
        self._down = np.maximum(0.0, self._down - values + self._mean - self.delta)
        if max(self._up.max(), self._down.max()) <= self.threshold:
            return False
        self.reset()
        return True


class Classes:
    """Kinds of work, found as they come: the nearest centre, or a new one if none is within `radius`."""

    def __init__(self, radius: float, most: int) -> None:
        self.radius = radius
        self.most = most
        self.centres: list[Floats] = []
        self.seen: list[int] = []

    def known(self, features: Floats, apart_from: int = -1) -> int:
        """The class of this work; -1 if there is none like it, and room for one more."""
        distances = [float(np.linalg.norm(features - centre)) for centre in self.centres]
        if apart_from >= 0:
            distances[apart_from] = np.inf
        near = int(np.argmin(distances)) if distances else -1
        if near == apart_from:
            return -1
        return near if distances[near] <= self.radius or len(self.centres) == self.most else -1

    def of(self, features: Floats) -> int:
        """The class of this work, founded now if there is none like it."""
        known = self.known(features)
        if known >= 0:
            return known
        return self.add(features)

    def add(self, centre: Floats, seen: int = 0) -> int:
        self.centres.append(centre.copy())
        self.seen.append(seen)
        return len(self.centres) - 1

    def drop_last(self) -> None:
        del self.centres[-1], self.seen[-1]

    def move(self, kind: int, features: Floats) -> None:
        """The centre follows what was seen of it."""
        self.seen[kind] += 1
        self.centres[kind] = self.centres[kind] + (features - self.centres[kind]) / (self.seen[kind] + 1)

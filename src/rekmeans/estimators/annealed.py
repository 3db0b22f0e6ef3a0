"""Shared by SelfOrganizingMap and NeuralGas: prototypes with neighbors, and a reach that decreases
from stage to stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._grid import Array
from ..model import Fit, Model
from .kernel_kmeans import KernelClusterer
from .placement import Placement

MIN_POSITIVE_REACH = 0.2  # last stage before reach 0: neighbors have almost no weight here


class Annealed(KernelClusterer):
    """A clusterer with one stage per reach; within a stage the objective never increases."""

    reach: float
    start_reach: float | None
    stages: int

    def _reaches(self) -> Array:
        """Return the reach of each stage, which decreases geometrically."""
        if self.stages == 1:
            return np.array([float(self.reach)])
        first = self._start_reach() if self.start_reach is None else float(self.start_reach)
        last = float(self.reach) if self.reach > 0 else min(MIN_POSITIVE_REACH, first)
        decreasing = np.geomspace(max(first, last), last, self.stages - (self.reach == 0))
        return np.append(decreasing, 0.0) if self.reach == 0 else decreasing

    def _start_reach(self) -> float:
        """Return the reach of the first stage if `start_reach` is None."""
        return max(self.n_clusters / 2, 0.5)

    def _rule(self, reach: float) -> Any:
        """Return the assignment rule for a reach."""
        raise NotImplementedError

    def _assignment_rule(self) -> Any:
        return self._rule(float(self.reach))

    def _make_stages(self, kernel: Any) -> Sequence[Model]:
        last = super()._make_stages(kernel)[-1]
        return [
            *(replace(last, assignment=self._rule(float(reach))) for reach in self._reaches()[:-1]),
            last,
        ]

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        stage = fit.history.get("stage", np.zeros(len(fit.history["n_changed"]), int))
        history = fit.history | {"stage": stage, "reach": self._reaches()[stage]}
        return super()._attributes(placed, fit) | {"history_": history}


def two_nearest(D: Array) -> Array:
    """Return the columns of the two smallest D of each row, (n, 2); the same twice if D has one."""
    return np.argsort(D, axis=1, kind="stable")[:, [0, min(1, D.shape[1] - 1)]]

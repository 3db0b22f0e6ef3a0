"""What map and gas share: a reach that falls from stage to stage of the one loop, and prototypes
with neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _parameters, lloyd
from .._grid import Array
from ..model import Fit, Model
from .kernel_kmeans import KernelClusterer
from .placement import Placement

LAST = 0.2  # reach from which the fall goes to 0 in one step: neighbours hardly count there


class Annealed(KernelClusterer):
    """A rule whose reach shrinks from stage to stage; the objective never rises within one."""

    reach: float
    start_reach: float | None
    stages: int

    def _reaches(self) -> Array:
        """The reach of each stage, falling by equal factors."""
        if self.stages == 1:
            return np.array([float(self.reach)])
        first = self._start_reach() if self.start_reach is None else float(self.start_reach)
        last = float(self.reach) if self.reach > 0 else min(LAST, first)
        falling = np.geomspace(max(first, last), last, self.stages - (self.reach == 0))
        return np.append(falling, 0.0) if self.reach == 0 else falling

    def _start_reach(self) -> float:
        """The reach of the first stage where none is named."""
        return max(self.n_clusters / 2, 0.5)

    def _rule(self, reach: float) -> Any:
        raise NotImplementedError

    def _assignment_rule(self) -> Any:
        return self._rule(float(self.reach))

    def _make_stages(self, kernel: Any) -> Sequence[Model]:
        last = super()._make_stages(kernel)[-1]
        return [
            *(replace(last, assignment=self._rule(float(reach))) for reach in self._reaches()[:-1]),
            last,
        ]

    def _max_passes(self) -> int:
        return self.max_iter + (self.stages - 1) * (lloyd.STAGE + 1)

    def _check_prediction_parameters(self) -> None:
        _parameters.check_real("reach", self.reach, least=0)
        if self.start_reach is not None:
            _parameters.check_real("start_reach", self.start_reach, above=0)
        _parameters.check_int("stages", self.stages)
        super()._check_prediction_parameters()

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        stage = fit.history.get("stage", np.zeros(len(fit.history["n_changed"]), int))
        history = fit.history | {"stage": stage, "reach": self._reaches()[stage]}
        return super()._attributes(placed, fit) | {"history_": history}


def two_nearest(D: Array) -> Array:
    """The columns of the least and the next D, (n, 2); the same twice where there is one."""
    return np.argsort(D, axis=1, kind="stable")[:, [0, min(1, D.shape[1] - 1)]]

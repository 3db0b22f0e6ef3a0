"""An engine as somebody outside the project would write it.

It imports only the base classes of engines, the records of the loop, and exact integers.
"""

import numpy as np

from rekmeans._grid import integer_weights, small_weights
from rekmeans.engines.base import BaseRows, Engine, Run
from rekmeans.model import Assignment


class ForeignEngine(Engine):
    """Rows in memory, dealt out to three shards like cards; each pass adds up the shards."""

    name = "foreign"

    def describe(self):
        return "three shards in one process"

    def unsupported(self, stages, table):
        if not table.is_in_memory or not table.is_on_host:
            return "takes tables in memory only."
        if any(model.kernel.statistics for model in stages):
            return "serves kernels whose sums add only."
        return ""

    def place(self, stages, table, n_threads, memory_limit):
        return ForeignRows(stages[-1].kernel, table)


class ForeignRows(BaseRows):
    """The mapped rows of three shards; the rows of a shard are three apart."""

    def __init__(self, kernel, table):
        super().__init__(kernel, table)
        X = table.dense(slice(None))
        self.shards = [(slice(s, None, 3), kernel.embed(X[s::3])) for s in range(3)]
        self.is_informative = ~kernel.uninformative_rows(X)

    def weights(self):
        scale_weights = integer_weights if self.kernel.has_exact_arithmetic else small_weights
        w = self.table.weights
        dtype = np.int64 if self.kernel.has_exact_arithmetic else np.float64
        w = (
            np.ones(len(self), dtype)
            if w is None
            else scale_weights(w, self.table.largest_weight)[0]
        )
        return w * self.is_informative

    def place(self, table):
        return ForeignRows(self.kernel, table)

    def start_run(self, model):
        return ForeignRun(self, model)


class ForeignRun(Run):
    """A pass over the shards; labels are kept, to count those that change."""

    def __init__(self, rows, model):
        self.rows = rows
        self.model = model
        self.n_passes = 0
        self.last = np.full(len(rows), -1, np.int32)

    def assign(self, C):
        labels = np.empty(len(self.rows), np.int32)
        w = self.rows.weights()
        total = None
        for shard, F in self.rows.shards:
            if len(F):
                labels[shard], sums, _ = self.model.assign_block(F, w[shard], C)
                total = sums if total is None else total + sums
        n_changed = int((labels != self.last).sum())
        self.last = labels
        self.n_passes += 1
        return Assignment(n_changed, total)

    def labels(self):
        return self.last

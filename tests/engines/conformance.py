"""The conformance suite for engines: the properties that the loop, the seeding and the estimators
use.

A test module subclasses `RowsConformance` for each engine and defines how rows are placed. The
expected values follow from plain definitions. They are computed from the mapped rows with Python
integers, or with NumPy where the arithmetic is not exact.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans._grid import integer_weights, small_weights
from rekmeans.assignment import Hard
from rekmeans.centroids import mean, rectified
from rekmeans.engines import Run, host_values
from rekmeans.kernels.euler import Euler
from rekmeans.kernels.laplace import Laplace
from rekmeans.kernels.points import RBF, Linear
from rekmeans.lloyd import run, run_to_end
from rekmeans.model import Model, Stop
from rekmeans.seeding import SeedingPlan, greedy_rows
from rekmeans.short_fits import DrawnBits
from rekmeans.table import MemoryTable
from support.models import scale_of, watch_passes

K = 4
N = 210
N_COLUMNS = 3
TURN = 2**16  # number of units per half-turn in phase sums
CASES = ("plain", "weights", "gaps", "ignored rows", "weights and gaps")
FLOAT_KERNELS = {
    "linear": lambda scale: Linear(scale, "clip"),
    "rbf": lambda scale: RBF(scale, "clip", 0.7),
    "laplace": lambda scale: Laplace(scale, "clip", 0.7),
}


def example(case):
    """Return (X, weights, beyond) of a case. Two rows are equal, so that ties occur."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, N_COLUMNS)) + 3 * rng.integers(0, 3, (N, 1))
    X[7] = X[3]
    weights = None
    if "gaps" in case:
        X[rng.random((N, N_COLUMNS)) < 0.2] = np.nan
        X[np.isnan(X).all(axis=1)] = 0.5
    if "weights" in case:
        weights = rng.uniform(0.2, 3, N)
        weights[11] = 0.0
    if case == "ignored rows":
        X[20] = 1e6
    return X, weights, "ignore" if case == "ignored rows" else "wrap"


def euler_model(case, rule=rectified):
    X, weights, beyond = example(case)
    scale = scale_of("robust" if beyond == "ignore" else "range", X, weights)
    return Model(Euler(scale, beyond, 0.7), Hard(), rule)


def expected_weights(kernel, X, weights):
    """Return the weights in the sums, and the exponent of their power of two."""
    scale_weights = integer_weights if kernel.has_exact_arithmetic else small_weights
    w, bits = (np.ones(len(X), np.int64), 0) if weights is None else scale_weights(weights)
    return w * ~kernel.uninformative_rows(X), bits


def exact_pass(kernel, F, w, C):
    """Return labels, masses, loss, totals and observed weights of a pass, with Python integers."""
    distances = kernel.distance(F, C).tolist()  # (n, k) integers
    labels = np.array([row.index(min(row)) for row in distances])
    d = F.shape[1] // 2
    masses = [0] * len(C)
    totals = np.zeros((len(C), 2 * d), object)
    observed = np.zeros((len(C), d), object)
    loss = 0
    for i, (f, weight) in enumerate(zip(F.tolist(), w.tolist(), strict=True)):
        label = labels[i]
        masses[label] += weight
        loss += weight * distances[i][label]
        for j in range(d):
            totals[label, j] += weight * f[j]
            totals[label, d + j] += weight * f[d + j]
            observed[label, j] += weight * bool(f[j] or f[d + j])
    return labels, masses, loss, totals, observed


def running_draw(w, losses, words):
    """Return the first row whose running sum of weight times loss exceeds total * r / 2^64."""
    shares = [int(a) * int(b) for a, b in zip(w, losses, strict=True)]
    total = sum(shares)
    drawn = []
    for word in words.tolist():
        goal = total * word >> 64
        running = 0
        for row, share in enumerate(shares):
            running += share
            if running > goal:
                drawn.append(row)
                break
    return np.array(drawn)


def centroids_at(kernel, X):
    """Return K centroids of the kernel at points spread over the table."""
    low = np.nanmin(X, axis=0)
    high = np.nanquantile(X, 0.95, axis=0)
    return kernel.from_points(low + (high - low) * np.linspace(0.1, 0.9, K)[:, None])


class RowsConformance:
    """The laws of `Rows` and `Run`. A subclass defines `place` and the features of its engine."""

    float_kernels = ("linear", "rbf", "laplace")
    tolerance = 1e-12  # for float kernels

    def place(self, model, X, weights):
        """Map the rows of a table on the engine."""
        raise NotImplementedError

    def placed(self, case, rule=rectified):
        X, weights, _ = example(case)
        model = euler_model(case, rule)
        F = model.kernel.embed(X)
        w, bits = expected_weights(model.kernel, X, weights)
        return self.place(model, X, weights), model, X, F, w, bits

    @pytest.mark.parametrize("case", CASES)
    def test_rows_have_their_length_and_weights(self, case):
        rows, model, X, _, w, bits = self.placed(case)
        assert len(rows) == N
        assert rows.kernel == model.kernel
        assert_array_equal(host_values(rows.weights()), w)
        assert rows.weight_bits == bits
        assert rows.has_weight()
        assert rows.n_uninformative() == int(model.kernel.uninformative_rows(X).sum())
        assert rows.n_parallel_runs >= 1

    @pytest.mark.parametrize("rule", [mean, rectified])
    @pytest.mark.parametrize("case", CASES)
    def test_a_pass_follows_its_definition(self, case, rule):
        rows, model, X, F, w, _ = self.placed(case, rule)
        C = centroids_at(model.kernel, X)
        one = rows.start_run(model)
        assert isinstance(one, Run)
        before = np.full(N, -1)
        for number in range(3):
            labels, masses, loss, totals, observed = exact_pass(model.kernel, F, w, C)
            assignment = one.assign(C)
            assert one.n_passes == number + 1
            assert assignment.n_changed == int((labels != before).sum())
            assert assignment.sums.loss == loss
            assert_array_equal(assignment.sums.mass, masses)
            sums = assignment.sums.fetch()
            assert_array_equal(sums.totals, totals)
            assert_array_equal(sums.observed, observed)
            following = one.update(assignment.sums, C)
            assert following == model.centroids(model.kernel, sums, C)
            assert_array_equal(host_values(one.labels()), labels)
            assert_array_equal(host_values(rows.label(model, C)), labels)
            before = labels
            C = following

    @pytest.mark.parametrize("case", CASES)
    def test_runs_on_the_same_rows_are_independent(self, case):
        rows, model, X, F, w, _ = self.placed(case)
        C = centroids_at(model.kernel, X)
        other = C.take([2, 1, 0])
        one = rows.start_run(model)
        two = rows.start_run(model)
        one.assign(C)
        two.assign(other)
        assert_array_equal(host_values(one.labels()), exact_pass(model.kernel, F, w, C)[0])
        assert_array_equal(host_values(two.labels()), exact_pass(model.kernel, F, w, other)[0])

    @pytest.mark.parametrize("case", CASES)
    def test_single_passes_and_one_call_give_the_same_run(self, case):
        rows, model, X, F, w, _ = self.placed(case)
        C = centroids_at(model.kernel, X)
        stop = Stop(20, 0.0)
        in_one_call = run(rows, model, C, stop)
        watched = run(rows, model, C, stop, watch_passes)
        best = in_one_call.centroids
        assert best == watched.centroids
        assert in_one_call.loss == watched.loss == exact_pass(model.kernel, F, w, best)[2]
        assert_array_equal(host_values(in_one_call.labels), host_values(watched.labels))
        assert_array_equal(in_one_call.history["inertia"], watched.history["inertia"])

    def test_drawn_starts_give_the_best_of_single_fits(self):
        rows, model, *_ = self.placed("weights and gaps")
        plan = SeedingPlan(K, 2)
        stop = Stop(5, 0.0)
        words = np.random.PCG64(1).random_raw(3 * plan.n_words).reshape(3, -1)
        rows = rows.in_memory()
        found = rows.start_run(model).fit_drawn_starts(plan, words, stop)
        if found is None:
            pytest.skip("this run does not support fits of drawn starts in one call")
        starts = [greedy_rows(rows, plan, DrawnBits(row)) for row in words]
        ends = [run_to_end(rows, model, C, stop).state for C in starts]
        expected = min(ends, key=lambda state: state.loss)
        assert found.loss == expected.loss
        assert found.centroids == expected.centroids

    @pytest.mark.parametrize("case", CASES)
    def test_farthest_returns_the_first_row_with_the_largest_distance(self, case):
        rows, model, X, F, w, _ = self.placed(case)
        C = centroids_at(model.kernel, X).take([0])
        least = np.where(w > 0, model.kernel.distance(F, C).min(axis=1), -1)
        number = int(np.flatnonzero(least == least.max())[0])
        found = rows.farthest(C)
        assert (found.loss, found.number) == (least[number], number)
        assert_array_equal(found.mapped, F[number])

    @pytest.mark.parametrize("case", CASES)
    def test_map_blocks_keeps_the_order_of_rows(self, case):
        rows, _, _, F, _, _ = self.placed(case)
        assert_array_equal(host_values(rows.map_blocks(lambda F: F[:, 0])), F[:, 0])
        assert_array_equal(host_values(rows.map_blocks(lambda F: F)), F)

    @pytest.mark.parametrize("case", CASES)
    def test_phase_sums_equal_sums_of_python_integers(self, case):
        rows, model, X, _, w, _ = self.placed(case)
        C = centroids_at(model.kernel, X)
        labels = rows.label(model, C)
        turns, observed = rows.phase_sums(labels, K)
        phases = model.kernel.coordinates(X)
        expected_turns = np.zeros((K, N_COLUMNS), object)
        expected_observed = np.zeros((K, N_COLUMNS), object)
        for row, label in enumerate(host_values(labels)):
            for j in range(N_COLUMNS):
                if not np.isnan(phases[row, j]):
                    expected_turns[label, j] += int(w[row]) * round(phases[row, j] * TURN)
                    expected_observed[label, j] += int(w[row])
        assert_array_equal(turns, expected_turns)
        assert_array_equal(observed, expected_observed)

    def test_rows_become_centroids(self):
        rows, _, _, F, _, _ = self.placed("plain")
        numbers = np.array([5, 2, 5, N - 1])
        assert_array_equal(rows.rows_as_centroids(numbers).f, F[numbers])

    def test_missing_coordinates_are_filled_from_the_centroid_of_all_rows(self):
        rows, model, _, F, _, _ = self.placed("weights and gaps")
        kernel = model.kernel
        middle = kernel.from_points(kernel.scale.middle[None])
        run_ = rows.start_run(model)
        overall = run_.update(run_.assign(middle).sums, middle).f[0]
        gap = np.tile((F[:, :N_COLUMNS] == 0) & (F[:, N_COLUMNS:] == 0), 2)
        numbers = np.arange(40)
        expected = np.where(gap, overall, F)[numbers]
        assert_array_equal(rows.rows_as_centroids(numbers).f, expected)

    @pytest.mark.parametrize("case", ["plain", "weights", "ignored rows", "weights and gaps"])
    def test_rows_are_drawn_by_weight_and_then_by_weight_times_loss(self, case):
        rows, model, _, F, w, _ = self.placed(case)
        kernel = model.kernel
        seeding = rows.start_seeding()
        words = np.random.PCG64(2).random_raw(50)
        first = seeding.sample(words)
        assert_array_equal(first, running_draw(w, np.ones(N, np.int64), words))
        seeding.add_all(first[:2])
        C = rows.rows_as_centroids(first[:2])
        losses = kernel.loss(kernel.distance(F, C)).min(axis=1)
        assert_array_equal(seeding.sample(words), running_draw(w, losses, words))
        assert seeding.centroids == C
        owners = kernel.distance(F, C).argmin(axis=1)
        masses = np.bincount(owners, weights=w.astype(np.float64), minlength=2)
        assert_allclose(host_values(seeding.nearest_masses()), masses, rtol=1e-14)

    def test_samples_are_placed_on_the_same_engine(self):
        rows, model, _, _, _, _ = self.placed("weights")
        sample = rows.table.sample(50, 1)
        few = rows.place(sample)
        w, bits = expected_weights(
            model.kernel, host_values(sample.dense(slice(None))), sample.weights
        )
        assert_array_equal(host_values(few.weights()), w)
        assert few.weight_bits == bits
        assert type(few.place(few.table)) is type(few)

    def test_small_tables_are_loaded_into_memory(self):
        rows, _, _, F, w, _ = self.placed("gaps")
        here = rows.in_memory()
        assert_array_equal(host_values(here.map_blocks(lambda F: F)), F)
        assert_array_equal(host_values(here.weights()), w)
        assert rows.max_seeding_rows is None or rows.max_seeding_rows > 0

    @pytest.mark.parametrize("kernel", FLOAT_KERNELS)
    def test_a_pass_of_a_float_kernel_agrees_to_the_tolerance(self, kernel):
        if kernel not in self.float_kernels:
            pytest.skip(f"the engine does not support the kernel {kernel}")
        X, weights, _ = example("weights")
        model = Model(FLOAT_KERNELS[kernel](scale_of("range", X, weights)), Hard(), rectified)
        rows = self.place(model, X, weights)
        F = model.kernel.embed(X)
        w, bits = expected_weights(model.kernel, X, weights)
        assert rows.weight_bits == bits
        C = centroids_at(model.kernel, X)
        one = rows.start_run(model)
        D = model.kernel.distance(F, C)
        labels = D.argmin(axis=1)
        losses = model.kernel.loss(D)[np.arange(N), labels]
        assignment = one.assign(C)
        assert_array_equal(host_values(one.labels()), labels)
        assert_allclose(assignment.sums.loss, (w * losses).sum(), rtol=self.tolerance)
        masses = np.bincount(labels, weights=w, minlength=K)
        assert_allclose(assignment.sums.mass, masses, rtol=self.tolerance)
        assert_allclose(
            host_values(rows.map_blocks(lambda F: model.kernel.distance(F, C).min(axis=1))),
            D.min(axis=1),
            rtol=self.tolerance,
        )


def memory_rows(engine, model, X, weights):
    """Place a table in memory on an engine."""
    return engine.place([model], MemoryTable(X, weights), 2, None)

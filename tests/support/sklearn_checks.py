"""The checks of scikit-learn that are expected to fail, and why."""

from rekmeans import EulerMap, SelfOrganizingMap

SHUFFLED = (
    "random draws follow row order and this check shuffles the rows; "
    "from a given start row order changes nothing: test_euler_invariants, test_kernel_estimators"
)


def weight_equivalence_failures(estimator):
    """{check: reason}: none for estimators that draw nothing."""
    checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    return (
        {}
        if isinstance(estimator, EulerMap | SelfOrganizingMap)
        else dict.fromkeys(checks, SHUFFLED)
    )

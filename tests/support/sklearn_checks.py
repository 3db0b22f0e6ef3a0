"""The scikit-learn checks that are expected to fail, with the reasons."""

from rekmeans import EulerMap, SelfOrganizingMap

SHUFFLED = (
    "random draws depend on the row order, and this check shuffles the rows; fits from a given "
    "start do not depend on it (test_euler_invariants, test_kernel_estimators)"
)


def weight_equivalence_failures(estimator):
    """Return {check: reason}, which is empty for estimators without random draws."""
    checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    return (
        {}
        if isinstance(estimator, EulerMap | SelfOrganizingMap)
        else dict.fromkeys(checks, SHUFFLED)
    )

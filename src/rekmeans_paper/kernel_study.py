"""The kernel study: deviation of means for each kernel, effect of rectification, robustness."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .fit_records import FitKind, Progress
from .kernel_study_fits import (
    ERROR_WIDTH,
    FULL_STUDY,
    MAX_CELLS,
    N_COMPONENTS,
    N_STARTS,
    QUICK_STUDY,
    KernelFit,
    KernelPlan,
    measure_kernel_fit,
    task_key,
)
from .kernel_study_tables import KERNEL_TABLES
from .study import Study, make_study

if TYPE_CHECKING:
    from .drawing import Figure


def study_kernels(
    folder: Path,
    plan: KernelPlan = FULL_STUDY,
    only: Sequence[str] = (),
    workers: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute the tables in `only`, or all, and write them with their figures and a page.

    Parameters
    ----------
    folder : Path
        The output folder for index.html, results.json, a CSV for each table, and an SVG and a PNG
        for each figure. If one of the files cannot be written, none of them is.
    plan : KernelPlan, default=FULL_STUDY
        `FULL_STUDY` or `QUICK_STUDY` of `rekmeans_paper.kernel_study_fits`, or a plan of your own.
    only : sequence of str, default=()
        Names of tables. An empty sequence means all tables in `KERNEL_STUDY.tables`.
    workers : int or None, default=None
        Number of processes. None means one per core. The results do not depend on it.
    progress : callable or None, default=None
        Called with the number of finished fits, the number of all fits, and the current dataset.

    Returns
    -------
    dict
        The contents of results.json: tables (name -> rows), figure files, protocols, and the
        missing datasets with the reasons.
    """
    return make_study(KERNEL_STUDY, folder, plan, only, workers, progress)


def _load_kernel_figures() -> dict[str, Figure]:
    from .kernel_study_figures import KERNEL_FIGURES

    return KERNEL_FIGURES


def _fit_kind(plan: KernelPlan) -> FitKind[KernelFit]:
    return FitKind(KernelFit, partial(measure_kernel_fit, rows=plan.rows), task_key)


def _protocol_texts(plan: KernelPlan) -> dict[str, str]:
    """Describe the protocols of the tables."""
    return {
        "rows": f"at most {plan.rows} rows and {MAX_CELLS} cells of a dataset, sampled once",
        "clean": f"robust scale with clipped values; {plan.starts} separate starts for deviation, "
        f"{plan.rectification_starts} for rectification; the width is alpha, or a "
        'multiple of gamma="auto" for as many clusters as classes',
        "explicit maps": f"scikit-learn's maps with {N_COMPONENTS} components, the same gamma and "
        f"the same scaled rows",
        "gross errors": f"normal errors with {ERROR_WIDTH} standard deviations in a share of cells "
        f"or rows; {plan.draws} draws, best of {N_STARTS} starts, true number of clusters; our "
        'estimators with their defaults, and with beyond="wrap" (the kernel alone)',
    }


KERNEL_STUDY: Study[KernelPlan, KernelFit] = Study(
    title="the kernel study",
    folder="kernel_study",
    full=FULL_STUDY,
    quick=QUICK_STUDY,
    tables=KERNEL_TABLES,
    load_figures=_load_kernel_figures,
    template="kernel_study.html.j2",
    fit_kind=_fit_kind,
    protocols=_protocol_texts,
)

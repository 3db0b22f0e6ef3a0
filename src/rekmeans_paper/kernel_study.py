"""The kernel study: how far means deviate for each kernel, what rectification changes, and where
methods break.
"""

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
    """Make the tables named, or all, and write them with their figures and a page.

    Parameters
    ----------
    folder : Path
        Gets index.html, results.json, a CSV for each table, an SVG and a PNG for each figure: all
        of them, or none.
    plan : KernelPlan, default=FULL_STUDY
        `FULL_STUDY` or `QUICK_STUDY` of `rekmeans_paper.kernel_study_fits`, or one of your own.
    only : sequence of str, default=()
        Names of tables; none for all of `KERNEL_STUDY.tables`.
    workers : int or None, default=None
        Processes; None for one a core. The answer is the same.
    progress : callable or None, default=None
        Called with the fits done, the fits in all, and the set at work.

    Returns
    -------
    dict
        What results.json holds: tables (name -> rows), files of figures, how it was run, why data
        sets are missing.
    """
    return make_study(KERNEL_STUDY, folder, plan, only, workers, progress)


def _load_kernel_figures() -> dict[str, Figure]:
    from .kernel_study_figures import KERNEL_FIGURES

    return KERNEL_FIGURES


def _fit_kind(plan: KernelPlan) -> FitKind[KernelFit]:
    return FitKind(KernelFit, partial(measure_kernel_fit, rows=plan.rows), task_key)


def _protocol_texts(plan: KernelPlan) -> dict[str, str]:
    """How the tables were run."""
    return {
        "rows": f"at most {plan.rows} rows of a set, drawn once, and at most {MAX_CELLS} cells",
        "clean": f"robust scale, values outside it clipped; {plan.starts} starts for deviation, "
        f"{plan.tries} for rectification, each on its own; width: alpha, or a "
        'multiple of gamma="auto" for as many clusters as classes',
        "explicit maps": f"scikit-learn's, {N_COMPONENTS} components, the same gamma on the same "
        f"scaled rows",
        "dirt": f"normal errors {ERROR_WIDTH} standard deviations wide in a share of cells or "
        f"rows; "
        f"{plan.draws} draws, best of {N_STARTS} starts, true number of clusters; "
        'ours at the defaults, and with beyond="wrap": the kernel alone',
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

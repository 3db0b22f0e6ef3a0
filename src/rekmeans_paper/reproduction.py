"""The reproduction of Lin & Chen (2021): every table and figure, next to the printed values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import published
from .errata import ERRATA_TABLE
from .fit_records import Progress
from .reproduction_cells import CELL_KIND, Cell
from .reproduction_claims import CLAIMS_TABLE
from .reproduction_evidence import EVIDENCE
from .reproduction_plans import FULL, QUICK, Plan
from .reproduction_tables import PAPER_TABLES
from .study import Study, make_study

if TYPE_CHECKING:
    from .drawing import Figure


def reproduce_paper(
    folder: Path,
    plan: Plan = FULL,
    only: Sequence[str] = (),
    workers: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute the tables in `only`, or all, and write them with their figures and a page.

    An interrupted run can be continued: finished fits are read from `folder`/cells.jsonl.

    Parameters
    ----------
    folder : Path
        The output folder for index.html, results.json, a CSV for each table, an SVG and a PNG for
        each figure, and cells.jsonl.
    plan : Plan, default=FULL
        `FULL` or `QUICK` of `rekmeans_paper.reproduction_plans`, or a plan of your own.
    only : sequence of str, default=()
        Names of tables. An empty sequence means all tables in `REPRODUCTION.tables`.
    workers : int or None, default=None
        Number of processes. None means one per core. The results do not depend on it.
    progress : callable or None, default=None
        Called with the number of finished fits, the number of all fits, and the current dataset.

    Returns
    -------
    dict
        The contents of results.json: tables (name -> rows), figure files, protocols, and the
        missing datasets with the reasons.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rekmeans_paper.reproduction_plans import QUICK
    >>> from rekmeans_paper.reproduction import reproduce_paper
    >>> with TemporaryDirectory() as folder:
    ...     rows = reproduce_paper(Path(folder), QUICK, ["clusters"])["tables"]["clusters"]
    >>> rows[0]["k"], rows[0]["kappa"] > rows[-1]["kappa"]
    (2, True)
    """
    return make_study(REPRODUCTION, folder, plan, only, workers, progress)


def _load_paper_figures() -> dict[str, Figure]:
    from .reproduction_figures import PAPER_FIGURES

    return PAPER_FIGURES


def _protocol_titles(plan: Plan) -> dict[str, str]:
    return {key: protocol.title for key, protocol in (plan.low | plan.high).items()}


REPRODUCTION: Study[Plan, Cell] = Study(
    title="compared with the printed values",
    folder="reproduction",
    full=FULL,
    quick=QUICK,
    tables={"claims": CLAIMS_TABLE} | PAPER_TABLES | EVIDENCE | {"errata": ERRATA_TABLE},
    load_figures=_load_paper_figures,
    template="study.html.j2",
    fit_kind=lambda plan: CELL_KIND,
    protocols=_protocol_titles,
    records_file="cells.jsonl",
    source={"paper": published.SOURCE},
)

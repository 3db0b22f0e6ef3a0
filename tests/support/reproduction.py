"""A few fits of wine from the reproduction of the paper, for this process and subprocesses."""

from rekmeans_paper import fit_records
from rekmeans_paper.reproduction_cells import CELL_KIND, Cell

FEW = [
    Cell("wine", "range", init, method, alpha, 0, start)
    for init in ("random", "k-means++")
    for method in ("EulerK", "REK1", "REK2", "k-means z")
    for alpha in (0.5, 0.9)
    for start in range(4)
]


def run_cells(cells, path, workers=1, progress=None):
    """Run cells on wine and store their records in a file."""
    return fit_records.run_fits(
        cells, CELL_KIND, fit_records.fingerprint_datasets(["wine"])[0], path, workers, progress
    )

"""Parts that tests plug together: scales by name, the Euler kernel by its alpha."""

from rekmeans.engines import ENGINES, choose_engine
from rekmeans.kernels.euler import Euler
from rekmeans.scales import SCALES
from rekmeans.table import MemoryTable


def scale_of(name, X, weights=None):
    """The scale of that name for a table."""
    return SCALES[name](MemoryTable(X, weights).column_summary())


def euler(alpha, scale, beyond="wrap"):
    """The Euler kernel."""
    return Euler(scale, beyond, alpha)


def place_rows(engine, model, table, n_threads=None, memory_limit=None):
    """The rows of a table on the engine of that name, for fits of one model."""
    return choose_engine(engine, ENGINES, [model], table).place(
        [model], table, n_threads, memory_limit
    )


def watch_passes(t, record):
    """A watcher that ends no run: with it an engine comes back after every pass, and cannot go on
    by itself.
    """

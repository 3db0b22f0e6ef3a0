"""Building blocks of tests: scales by name, the Euler kernel, placed rows."""

from rekmeans.engines import ENGINES, choose_engine
from rekmeans.kernels.euler import Euler
from rekmeans.scales import SCALES
from rekmeans.table import MemoryTable


def scale_of(name, X, weights=None):
    """Return the scale of that name for a table."""
    return SCALES[name](MemoryTable(X, weights).column_summary())


def euler(alpha, scale, beyond="wrap"):
    """Return an Euler kernel."""
    return Euler(scale, beyond, alpha)


def place_rows(engine, model, table, n_threads=None, memory_limit=None):
    """Place a table on the engine of that name, for fits of one model."""
    return choose_engine(engine, ENGINES, [model], table).place(
        [model], table, n_threads, memory_limit
    )


def watch_passes(t, record):
    """Do nothing after a pass; a callback makes an engine return to the loop after every pass."""

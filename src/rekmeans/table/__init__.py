"""Convert tables of any common type, in memory or out of core, to numeric rows with weights.

All input validation is in this package.
"""

from .base import ColumnSummary, CompiledFunctions, Table, TableFacts, dense, draw_goals, draw_rows
from .memory import MemoryTable
from .source_parts import ColumnCells
from .stream import Block, StreamTable

__all__ = [
    "Block",
    "ColumnCells",
    "ColumnSummary",
    "CompiledFunctions",
    "MemoryTable",
    "StreamTable",
    "Table",
    "TableFacts",
    "dense",
    "draw_goals",
    "draw_rows",
]

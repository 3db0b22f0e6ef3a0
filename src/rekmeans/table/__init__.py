"""Tables: any common table as rows of numbers with weights, wherever its rows are; bad ones are
refused here.
"""

from .base import ColumnSummary, CompiledFunctions, Table, TableFacts, dense, draw_goals, draw_rows
from .column_cells import ColumnCells
from .memory import MemoryTable
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

"""Tables: any common table as rows of numbers with weights, wherever its rows are.

This package is the only one that rejects input.
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

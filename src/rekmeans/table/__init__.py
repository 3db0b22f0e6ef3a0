"""Tables: any common table as rows of numbers with weights, wherever its rows are; bad ones are refused here."""

from .base import ColumnSummary, Table, draw_rows
from .memory import MemoryTable, dense

__all__ = ["ColumnSummary", "MemoryTable", "Table", "dense", "draw_rows"]

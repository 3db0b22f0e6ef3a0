"""Tables: any common table as rows of numbers with weights, wherever its rows are; bad ones are refused here."""

from .base import ColumnSummary, Table, Twins, dense, draw_rows
from .memory import MemoryTable

__all__ = ["ColumnSummary", "MemoryTable", "Table", "Twins", "dense", "draw_rows"]

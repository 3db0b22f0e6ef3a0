"""Tables: any common table as rows of numbers with weights, wherever its rows are; bad ones are refused here."""

from .base import ColumnSummary, Table, Twins, dense, draw_goals, draw_rows
from .memory import MemoryTable
from .stream import StreamTable

__all__ = ["ColumnSummary", "MemoryTable", "StreamTable", "Table", "Twins", "dense", "draw_goals", "draw_rows"]

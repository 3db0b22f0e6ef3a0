"""Rows of a table that is read block by block: each pass reads every block."""

from .rows import MAX_SEEDING_ROWS, BlockRows, BlockRun, refuse_blocks

__all__ = ["MAX_SEEDING_ROWS", "BlockRows", "BlockRun", "refuse_blocks"]

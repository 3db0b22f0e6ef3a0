"""Readers of files and data frames: record batches or arrays, with column names and types."""

# A fit of this many columns takes half a minute even for a few rows. The command line shows this
# number in its help, so this module imports nothing.
MAX_COLUMNS = 100_000

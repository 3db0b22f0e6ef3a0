"""Scanning: files and frames as record batches or arrays, with the names and types of columns."""

# A fit of this many columns takes half a minute even for a few rows. The command line shows this
# number in its help, so this module imports nothing.
MAX_COLUMNS = 100_000

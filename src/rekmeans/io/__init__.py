"""Read files and data frames as record batches or arrays, with column names and types."""

# Fitting this many columns takes half a minute even with few rows. The command-line help shows this
# number, so this module must not import anything.
MAX_COLUMNS = 100_000

"""The largest number of columns that a file may have unless the user allows more."""

# A fit of so many columns takes half a minute even of a few rows. The command line shows this
# number in its help, so this module imports nothing.
MOST_COLUMNS = 100_000

"""Files: tables read by the ending of their names, saved models, outputs that appear complete or
not at all.
"""

# A fit of so many columns takes half a minute even of a few rows. The command line shows this
# number in its help, so this module imports nothing.
MOST_COLUMNS = 100_000

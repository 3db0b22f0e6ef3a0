"""Numbers about a fit in the units of the table: fit_analysis.py (one pass over the rows),
summary.py (plain dict).
"""

"""The analysis of a fit: labels, scores and sums (fit_analysis.py), as a plain dict (summary.py)."""

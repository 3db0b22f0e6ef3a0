"""The analysis of a fit (fit_analysis.py: labels, scores, sums) and its summary (summary.py)."""

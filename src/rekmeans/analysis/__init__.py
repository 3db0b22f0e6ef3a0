"""The analysis of a fit: labels, scores and sums (fit_analysis.py), and its summary (summary.py)."""

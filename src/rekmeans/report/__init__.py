"""The report: summary.py (model and table -> plain dict) -> figures.py (dict -> SVG) -> html.py (dict -> one file)."""

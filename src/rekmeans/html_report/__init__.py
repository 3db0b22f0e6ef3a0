"""The report: figures.py (summary -> SVG, drawn by svg.py) -> html.py (summary and figures -> one
HTML file).
"""

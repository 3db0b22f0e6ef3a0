"""The HTML report: figures.py draws a summary as SVG (svg.py), and html.py renders the page."""

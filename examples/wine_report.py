"""
From a file to a report
=======================

This example reads the wine dataset from a file and creates labels, a model, a summary and an HTML
report, first with the command line and then with Python.
"""

import html
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_wine

from rekmeans import RectifiedEulerKMeans, clustering_accuracy, load, save
from rekmeans.analysis.summary import summary
from rekmeans.html_report.html import render_page

wine = load_wine(as_frame=True).frame.rename(columns={"target": "class"})
folder = Path(tempfile.mkdtemp())
wine.to_csv(folder / "wine.csv", index=False)
print((folder / "wine.csv").read_text()[:200], "…")

# %%
# The command line
# ----------------
# The shell command is ``rekmeans fit wine.csv -k 3 --label class``. The fit ignores the column
# ``class``, and the summary compares the clusters with it.


def shell(*arguments):
    """Run a command in the folder of the table and print its output."""
    done = subprocess.run(
        [sys.executable, "-m", "rekmeans", *arguments],
        cwd=folder,
        env=os.environ | {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    print(done.stdout)


shell("fit", "wine.csv", "-k", "3", "--label", "class")

# %%
# The model file assigns labels to other rows, with columns matched by name:

wine.sample(20, random_state=0).to_csv(folder / "more.csv", index=False)
shell("predict", "wine-rekmeans/model.safetensors", "more.csv")

# %%
# The report
# ----------
# The report is a self-contained HTML file. It shows the sizes and profiles of the clusters, rows on
# the circle, ambiguous rows, ignored values, and the settings to repeat the run. The command wrote
# this file:


class Frame:
    """An HTML page embedded in this one."""

    def __init__(self, text):
        self.text = text

    def _repr_html_(self):
        style = "width: 100%; height: 720px; border: 1px solid #8886; border-radius: 6px"
        return (
            f'<iframe title="report of wine" style="{style}" '
            f'srcdoc="{html.escape(self.text)}"></iframe>'
        )


Frame((folder / "wine-rekmeans" / "report.html").read_text(encoding="utf-8"))

# %%
# The same from Python
# --------------------

X = wine.drop(columns="class")
model = RectifiedEulerKMeans(n_clusters=3, random_state=0).fit(X)
print(f"accuracy {clustering_accuracy(wine['class'], model.labels_):.3f}")

# The summary is a dict with the contents of summary.json.
wine_summary = summary(model, X, y=wine["class"], title="Wine")
(folder / "mine.html").write_text(render_page(wine_summary), encoding="utf-8")

# %%
# A saved model gives the same bits after loading, and loading does not execute code from the file:

save(model, folder / "mine.safetensors")
again = load(folder / "mine.safetensors")
print("equal labels:", (again.predict(X) == model.labels_).all())

# sphinx_gallery_thumbnail_path = 'images/report-wine.png'

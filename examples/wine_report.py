"""
Wine, from file to report
=========================

A table on disk becomes labels, a model, a summary and a report page: once by the command line, once
from Python.
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
# In a shell this is ``rekmeans fit wine.csv -k 3 --label class``. The column ``class`` is compared
# with at the end and never takes part.


def shell(*arguments):
    """What a command prints, run in the folder of the table."""
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
# Other rows get their labels from the model file, by the names of their columns:

wine.sample(20, random_state=0).to_csv(folder / "more.csv", index=False)
shell("predict", "wine-rekmeans/model.safetensors", "more.csv")

# %%
# The report
# ----------
# One HTML file that fetches nothing: sizes, the profile of each cluster, rows on the circle,
# doubtful rows, values left out, and the settings to repeat the run. This is the file that the
# command wrote:


class Frame:
    """A page inside this one."""

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

# a plain dict, the contents of summary.json
wine_summary = summary(model, X, y=wine["class"], title="Wine")
(folder / "mine.html").write_text(render_page(wine_summary), encoding="utf-8")

# %%
# A saved model gives the same bits back, and nothing in its file is run when it is loaded:

save(model, folder / "mine.safetensors")
again = load(folder / "mine.safetensors")
print("same labels:", (again.predict(X) == model.labels_).all())

# sphinx_gallery_thumbnail_path = 'images/report-wine.png'

"""Sphinx configuration; `make docs` builds the documentation into build/docs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

import rekmeans

project = "rekmeans"
author = "the rekmeans developers"
copyright = f"2026, {author}"
version = release = rekmeans.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["templates"]

myst_heading_anchors = 3
templates_path = ["templates"]
default_role = "literal"
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_class_members_toctree = False
CLUSTERERS = (
    "EulerKMeans", "RectifiedEulerKMeans", "KernelKMeans", "FuzzyCMeans", "SelfOrganizingMap",
    "NeuralGas",
    "MultipleKernelKMeans", "MahalanobisFuzzyCMeans",
)  # fmt: skip
numpydoc_show_inherited_class_members = {f"rekmeans.{name}": True for name in CLUSTERERS}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"demo\.py$",  # `make demo` runs it
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": ("_repr_html_",),
    "remove_config_comments": True,
    "write_computation_times": False,
    "min_reported_time": 3600,
}

html_theme = "pydata_sphinx_theme"
html_logo = html_favicon = "images/logo.svg"
html_title = "rekmeans"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {
    "logo": {"text": "rekmeans"},
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,  # up to "The method"; the rest is under "More"
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# every page but the API reference, which lists its classes in the left sidebar
PAGES_WITHOUT_SIDEBAR = (
    "index",
    "choose",
    "command_line",
    "scale",
    "gpu",
    "method",
    "defaults",
    "speed",
    "reliability",
    "kernel_study",
    "reproduction",
    "glossary",
    "contributing",
    "gallery/*",
)
html_sidebars = {page: [] for page in PAGES_WITHOUT_SIDEBAR}


class Help(Directive):
    """Insert the output of `rekmeans COMMAND --help`."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        command = [sys.executable, "-m", "rekmeans", *self.arguments, "--help"]
        env = os.environ | {"COLUMNS": "92", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
        text = subprocess.run(
            command, env=env, capture_output=True, encoding="utf-8", check=True
        ).stdout
        lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
        return [nodes.literal_block(lines, lines, language="none", classes=["help"])]


# written by `rekmeans reproduce`, if it has been run in this checkout
RUN_PAGE = Path(__file__).parent.parent / "reproduction" / "index.html"
WHOLE_PAGE = "reproduction-whole.html"


def link_whole_page(app, document: str, source: list[str]) -> None:
    """Turn the name of the full reproduction page into a link if the page exists."""
    if document == "reproduction" and RUN_PAGE.exists():
        source[0] = source[0].replace(f"`{WHOLE_PAGE}`", f'<a href="{WHOLE_PAGE}">{WHOLE_PAGE}</a>')


def copy_whole_page(app, error: Exception | None) -> None:
    """Copy the full page of a finished reproduction into the site."""
    if error is None and RUN_PAGE.exists():
        shutil.copyfile(RUN_PAGE, Path(app.outdir) / WHOLE_PAGE)


def setup(app) -> None:
    app.add_directive("help", Help)
    app.connect("source-read", link_whole_page)
    app.connect("build-finished", copy_whole_page)

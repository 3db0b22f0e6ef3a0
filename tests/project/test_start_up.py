"""`import rekmeans`, --help and a fit do not import slow or optional libraries."""

import subprocess
import sys

import pytest

SLOW = ("numpy", "scipy", "sklearn", "joblib", "narwhals", "pyarrow", "pandas", "matplotlib")
PRINT_LOADED = "print(*(name for name in {!r} if name in sys.modules), file=sys.stderr)"


def loaded_modules(code, candidates, folder):
    """Return the candidate modules that a new process has imported after running the code."""
    lines = f"import sys\n{code}\n{PRINT_LOADED.format(candidates)}"
    done = subprocess.run(
        [sys.executable, "-c", lines], capture_output=True, text=True, check=True, cwd=folder
    )
    return done.stderr.split()


@pytest.mark.parametrize("package", ["rekmeans", "rekmeans_paper", "rekmeans.cli"])
def test_importing_the_package_imports_no_other_library(package, tmp_path):
    assert loaded_modules(f"import {package}", (*SLOW, "typer", "rich"), tmp_path) == []


def test_an_estimator_needs_no_optional_library(tmp_path):
    names = ("typer", "pyarrow", "matplotlib", "jinja2", "onnx", "safetensors", "dask", "torch")
    code = "from rekmeans import RectifiedEulerKMeans"
    # scikit-learn and SciPy import pandas and pyarrow if they are installed.
    before = loaded_modules("import sklearn.cluster", names, tmp_path)
    assert loaded_modules(code, names, tmp_path) == before
    assert loaded_modules(code, ("sklearn.metrics", "rekmeans.displays"), tmp_path) == []


@pytest.mark.parametrize("command", ["", "fit", "predict", "report", "export", "engines", "bench"])
def test_help_does_not_import_numpy(command, tmp_path):
    pytest.importorskip("typer")
    words = [word for word in (command, "--help") if word]
    code = f"from rekmeans.cli import status\nassert status({words!r}) == 0"
    assert loaded_modules(code, SLOW, tmp_path) == []


def test_a_fit_does_not_import_the_libraries_of_other_commands(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n2,1\n9,8\n8,9\n")
    code = (
        "from rekmeans.cli import status\n"
        "assert status(['fit', 'table.csv', '-k', '2', '-q', '--no-report']) == 0"
    )
    names = ("sklearn.metrics", "matplotlib", "jinja2", "onnx", "dask", "torch", "rekmeans_paper")
    assert loaded_modules(code, names, tmp_path) == []

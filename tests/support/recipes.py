"""The code blocks of the recipes in CONTRIBUTING.md."""

import importlib
import re
from pathlib import PurePosixPath

from support.paths import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def files_of_recipe(name):
    """Return the code blocks of a recipe by the paths in their first lines."""
    section = re.search(rf"^### Add an? {name}\n(.*?)(?=^##)", PAGE, flags=re.MULTILINE | re.DOTALL)
    blocks = re.findall(r"^```python\n# (\S+)\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)
    return dict(blocks)


def import_source(recipe, package, folder):
    """Write the source file of a recipe into a folder, and import it as a module of a package."""
    files = files_of_recipe(recipe)
    (source,) = (path for path in files if path.startswith("src/rekmeans/"))
    assert not (ROOT / source).exists(), f"{source} exists in the package; use another example"
    path = PurePosixPath(source)
    (folder / path.name).write_text(files[source], encoding="utf-8")
    package.__path__.append(str(folder))
    try:
        return importlib.import_module(f"{package.__name__}.{path.stem}")
    finally:
        package.__path__.remove(str(folder))

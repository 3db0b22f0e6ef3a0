"""
The same bits everywhere
========================

The answer is defined in integers on a grid, so it cannot depend on who adds what first. Here one
table is fitted with one thread and two, in tiny memory, by pure NumPy, on a sparse copy, and with
every instruction set of this processor; then all labels and centroids are compared, bit for bit.
"""

import hashlib
import os
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from rekmeans import RectifiedEulerKMeans

X = load_digits().data


def fingerprint(X, **parameters):
    """SHA-256 of the labels and centroids of a fit."""
    model = RectifiedEulerKMeans(10, random_state=0, **parameters).fit(X)
    return hashlib.sha256(model.labels_.tobytes() + model.centroids_.tobytes()).digest()


prints = {
    "1 thread": fingerprint(X, n_threads=1),
    "2 threads": fingerprint(X, n_threads=2),
    "mapped anew in each pass": fingerprint(X, memory_limit=1),
    "sparse": fingerprint(csr_array(X)),
    "pure NumPy": fingerprint(X, engine="reference"),
}

# %%
# ``REKMEANS_ISA`` forces an instruction set. Each runs in a process of its own, which loads the
# same table.

CODE = """
import hashlib
from sklearn.datasets import load_digits
from rekmeans import RectifiedEulerKMeans
model = RectifiedEulerKMeans(10, random_state=0, engine="native").fit(load_digits().data)
print(hashlib.sha256(model.labels_.tobytes() + model.centroids_.tobytes()).hexdigest())
"""

for isa in ("baseline", "avx2", "avx512", "vnni"):
    run = subprocess.run(
        [sys.executable, "-c", CODE],
        env=os.environ | {"REKMEANS_ISA": isa},
        capture_output=True,
        text=True,
    )
    if run.returncode == 0:
        prints[isa] = bytes.fromhex(run.stdout)
    else:
        print(f"{isa}: {run.stderr.strip().splitlines()[-1]}")

# %%
# 32 bytes each, in hexadecimal, and as colours. One bit elsewhere would change a whole line.

for name, found in prints.items():
    print(f"{name:<26}{found.hex()[:40]}…")
print("one answer:", len(set(prints.values())) == 1)

figure, ax = plt.subplots(figsize=(8, 0.3 * len(prints) + 0.6), layout="constrained")
ax.imshow([list(found) for found in prints.values()], aspect="auto", cmap="viridis")
ax.set_yticks(np.arange(len(prints)), list(prints))
ax.set_xticks([])
ax.hlines(np.arange(len(prints) - 1) + 0.5, -0.5, 31.5, color="white", lw=2)
ax.set_title("fingerprints of ten clusters of 1797 handwritten digits")

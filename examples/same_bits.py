"""
Reproducible results
====================

The result is defined by integer arithmetic on a grid, so it does not depend on the order of
additions. This example fits one table with one and two threads, with little memory, as a sparse
array, with pure NumPy, and with every instruction set of this processor. It then compares all
labels and centroids bit for bit.
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
    """Return the SHA-256 of the labels and centroids of a fit."""
    model = RectifiedEulerKMeans(10, random_state=0, **parameters).fit(X)
    return hashlib.sha256(model.labels_.tobytes() + model.centroids_.tobytes()).digest()


prints = {
    "1 thread": fingerprint(X, n_threads=1),
    "2 threads": fingerprint(X, n_threads=2),
    "minimal memory": fingerprint(X, memory_limit=1),
    "sparse": fingerprint(csr_array(X)),
    "pure NumPy": fingerprint(X, engine="reference"),
}

# %%
# ``REKMEANS_ISA`` selects an instruction set. Each fit runs in a separate process, which loads the
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
# Each fingerprint has 32 bytes, shown in hexadecimal and as colours. A single different bit in a
# result would change its whole line.

for name, digest in prints.items():
    print(f"{name:<26}{digest.hex()[:40]}…")
print("all equal:", len(set(prints.values())) == 1)

figure, ax = plt.subplots(figsize=(8, 0.3 * len(prints) + 0.6), layout="constrained")
ax.imshow([list(digest) for digest in prints.values()], aspect="auto", cmap="viridis")
ax.set_yticks(np.arange(len(prints)), list(prints))
ax.set_xticks([])
ax.hlines(np.arange(len(prints) - 1) + 0.5, -0.5, 31.5, color="white", lw=2)
ax.set_title("fingerprints of ten clusters of 1797 handwritten digits")

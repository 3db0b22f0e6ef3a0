"""Time whole fits on a GPU, from a NumPy array on the host to labels, compared with the native
engine and flash-kmeans.

    python benchmarks/gpu_fit.py [case ...] --out gpu_fit.jsonl

The time is split into scale (including the copy of its sample to the host), map (copy, map and
packing), start (short fits), passes, and the rest (pre-images, attributes). The copy is also timed
alone. flash-kmeans gets the mapped features on the GPU and chooses its own start. Its objective is
computed in float64 from its labels.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from rekmeans import EulerKMeans, RectifiedEulerKMeans, lloyd
from rekmeans.engines import ENGINES
from rekmeans.estimators import base, placement

REPEATS = 3


def shared_set(name: str) -> np.ndarray:
    with np.load(Path(os.environ["REKMEANS_DATA"]) / f"{name}.npz") as arrays:
        return arrays["X"].astype(np.float32)


def drawn_groups(n: int, d: int, k: int) -> np.ndarray:
    random = np.random.default_rng(0)
    X = random.standard_normal((n, d), dtype=np.float32)
    X += 2 * random.standard_normal((k, d), dtype=np.float32)[random.integers(0, k, n)]
    return X


CASES: dict[str, tuple[Callable[[], np.ndarray], int]] = {
    "mnist k=10": (lambda: shared_set("mnist"), 10),
    "mnist k=256": (lambda: shared_set("mnist"), 256),
    "covtype k=7": (lambda: shared_set("covtype"), 7),
    "10M x 16 k=10": (lambda: drawn_groups(10_000_000, 16, 10), 10),
}


@contextmanager
def timed_parts(estimator: type, parts: dict[str, float]) -> Iterator[None]:
    """Measure the seconds of the parts of a fit, and synchronize the GPU after each."""

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            started = time.perf_counter()
            result = work(*arguments, **options)
            torch.cuda.synchronize()
            parts[name] = parts.get(name, 0.0) + time.perf_counter() - started
            return result

        return run

    engine = ENGINES["torch"]
    with (
        patch.object(estimator, "_find_scale", timed("scale", estimator._find_scale)),
        patch.object(
            estimator, "_mean_phases", staticmethod(timed("pre-images", estimator._mean_phases))
        ),
        patch.object(type(engine), "place", timed("map", type(engine).place)),
        patch.object(base, "best_short_fit", timed("start", base.best_short_fit)),
        patch.object(lloyd, "fit_best_start", timed("passes", lloyd.fit_best_start)),
    ):
        yield


def fit_on_gpu(estimator: type, X: np.ndarray, k: int) -> dict[str, Any]:
    """Return the fastest of several fits with defaults, with its parts. An earlier fit compiles the
    kernels.
    """
    fits = []
    for _ in range(1 + REPEATS):
        parts: dict[str, float] = {}
        started = time.perf_counter()
        with timed_parts(estimator, parts):
            model = estimator(k, random_state=0, engine="torch").fit(X)
        # the loop runs the starts, so subtract their time
        parts["passes"] -= parts.get("start", 0.0)
        fits.append((time.perf_counter() - started, parts, model))
    seconds, parts, model = min(fits[1:], key=lambda fit: fit[0])
    rest = seconds - sum(parts.values())
    record = {
        "seconds": seconds,
        "first": fits[0][0],
        **parts,
        "rest": rest,
        "n_iter": model.n_iter_,
    }
    return record | {"inertia": model.inertia_, "model": model}


def fit_on_cpu(estimator: type, X: np.ndarray, k: int) -> dict[str, Any]:
    started = time.perf_counter()
    model = estimator(k, random_state=0, engine="native").fit(X)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "n_iter": model.n_iter_, "inertia": model.inertia_, "model": model}


def is_same_fit(one: Any, two: Any) -> bool:
    arrays = ("labels_", "centroids_", "cluster_centers_")
    same = all(np.array_equal(getattr(one, name), getattr(two, name)) for name in arrays)
    return same and (one.inertia_, one.n_iter_) == (two.inertia_, two.n_iter_)


def copy_seconds(X: np.ndarray) -> float:
    started = time.perf_counter()
    torch.from_numpy(X).cuda()
    torch.cuda.synchronize()
    return time.perf_counter() - started


def flash_fit(model: Any, X: np.ndarray, k: int, dtype: torch.dtype) -> dict[str, float]:
    """Run flash-kmeans on the mapped features of a fitted model, from its own start, with at most
    as many passes.
    """
    from flash_kmeans import batch_kmeans_Euclid

    F = placement.place_fitted(model, X).rows.store
    features = torch.empty(1, len(X), 2 * X.shape[1], dtype=dtype, device="cuda")
    for at in range(0, len(X), 1 << 16):
        features[0, at : at + (1 << 16)] = (
            F.grid(slice(at, min(at + (1 << 16), len(X)))).double() / 2**23
        ).to(dtype)
    seconds = []
    for _ in range(1 + REPEATS):
        torch.cuda.synchronize()
        started = time.perf_counter()
        labels = batch_kmeans_Euclid(features, k, max_iters=model.n_iter_, tol=0.0)[0]
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - started)
    wide = features[0].double() if len(X) < 1_000_000 else features[0].float()
    own = labels[0].long()
    sums = torch.zeros(k, wide.shape[1], dtype=wide.dtype, device="cuda").index_add_(0, own, wide)
    means = sums / torch.bincount(own, minlength=k).clamp(min=1)[:, None]
    blocks = zip(wide.split(1 << 18), own.split(1 << 18), strict=True)
    inertia = sum(
        float(((rows - means[labels]) ** 2).sum(dtype=torch.float64)) for rows, labels in blocks
    )
    return {"seconds": min(seconds[1:]), "inertia": inertia / 2}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(CASES))
    parser.add_argument("--out", type=Path, default=Path("gpu_fit.jsonl"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    with asked.out.open("w") as file:

        def record(**fields: Any) -> None:
            shown = {name: value for name, value in fields.items() if name != "model"}
            print(json.dumps(shown), file=file, flush=True)
            print(shown, flush=True)

        for name in asked.names or list(CASES):
            X = CASES[name][0]()
            k = CASES[name][1]
            record(case=name, contender="copy", seconds=copy_seconds(X))
            for estimator in (RectifiedEulerKMeans, EulerKMeans):
                on_gpu = fit_on_gpu(estimator, X, k)
                record(case=name, contender=f"{estimator.__name__} torch", **on_gpu)
                if not ENGINES["native"].missing():
                    on_cpu = fit_on_cpu(estimator, X, k)
                    same = is_same_fit(on_gpu["model"], on_cpu["model"])
                    record(
                        case=name,
                        contender=f"{estimator.__name__} native",
                        same_bits=same,
                        **on_cpu,
                    )
            for dtype in (torch.float16, torch.float32):
                try:
                    record(
                        case=name,
                        contender=f"flash {dtype}",
                        **flash_fit(on_gpu["model"], X, k, dtype),
                    )
                except Exception as error:
                    record(case=name, contender=f"flash {dtype}", error=str(error)[:200])


if __name__ == "__main__":
    main()

"""The committed pictures of docs/images: `python docs/pictures.py` draws them and photographs the
report of wine.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from rekmeans import RectifiedEulerKMeans, normalized_mutual_info
from rekmeans.analysis.summary import summary
from rekmeans.displays._style import SOFT, cluster_colour, draw_numbered_mark
from rekmeans.html_report.html import render_page

IMAGES = Path(__file__).parent / "images"
WIDTH = 15  # standard deviations of a gross error
SHARES = (0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
DRAWS = 10
LINEAR = 12  # the axes of the first picture are linear up to here
FRAME = 200  # and end here
WINDOW = {"width": 1200, "height": 860, "deviceScaleFactor": 1, "mobile": False}  # a desktop
PLACES = {
    "report-wine": "body",
    "report-wine-profile": "#profile",
    "report-wine-circle": "#separation h3",
}
MOST = 200_000  # bytes of a picture


def main() -> None:
    with warnings.catch_warnings(action="ignore"):
        first_sight(IMAGES / "first-sight.png")
    photographs(IMAGES, PLACES)


def add_errors(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    """X with gross errors in a share of its cells."""
    random = np.random.default_rng(seed)
    noise = X.mean(axis=0) + WIDTH * X.std(axis=0) * random.standard_normal(X.shape)
    return np.where(random.random(X.shape) < share, noise, X)


def kmeans(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels and centroids of z-scored k-means."""
    scaler = StandardScaler().fit(X)
    model = KMeans(3, n_init=10, random_state=0).fit(scaler.transform(X))
    return model.labels_, scaler.inverse_transform(model.cluster_centers_)


def rek(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels and centroids of rectified Euler k-means."""
    model = RectifiedEulerKMeans(3, random_state=0).fit(X)
    return model.labels_, model.cluster_centers_


METHODS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "k-means": kmeans,
    "rekmeans": rek,
}


def first_sight(path: Path) -> None:
    """Draw three groups with gross errors by k-means and by REK, and wine with more errors."""
    figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.8), layout="constrained")
    clean, y = make_blobs(300, centers=[[0, 0], [6, 1], [2, 6]], random_state=0)
    X = add_errors(clean, 0.05, 0)
    has_error = (X != clean).any(axis=1)
    for ax, (name, method) in zip(axes, METHODS.items(), strict=False):
        labels, centres = method(X)
        for c, centre in enumerate(centres):
            style = {"color": cluster_colour(c), "alpha": 0.7}
            ax.plot(*X[(labels == c) & ~has_error].T, "o", ms=3.5, mec="none", **style)
            ax.plot(*X[(labels == c) & has_error].T, "x", ms=5, **style)
            draw_numbered_mark(ax, c, *centre)
        # linear where the groups are, logarithmic beyond, so that the errors fit into the frame
        ax.set_xscale("symlog", linthresh=LINEAR, linscale=2)
        ax.set_yscale("symlog", linthresh=LINEAR, linscale=2)
        ticks = [-100, -10, 0, 10, 100]
        ax.set(xlim=(-FRAME, FRAME), ylim=(-FRAME, FRAME), aspect="equal")
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.set_yticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
        n_errors = int((X != clean).sum())
        nmi = normalized_mutual_info(y, labels)
        ax.set_title(f"{name}, {n_errors} wrong cells (x): NMI {nmi:.2f}", size=11)
    draw_gross_errors(axes[2])
    figure.savefig(path, dpi=130)
    write_compressed(path.read_bytes(), path)


def draw_gross_errors(ax: plt.Axes) -> None:
    """NMI on wine against the share of dirty cells."""
    wine, classes = load_wine(return_X_y=True)
    for (name, method), tint, marker in zip(
        METHODS.items(), (SOFT, cluster_colour(0)), "so", strict=True
    ):
        nmi = [
            np.mean(
                [
                    normalized_mutual_info(classes, method(add_errors(wine, share, s))[0])
                    for s in range(DRAWS)
                ]
            )
            for share in SHARES
        ]
        ax.plot(np.multiply(SHARES, 100), nmi, f"{marker}-", color=tint, label=name)
    ax.set(ylim=(0, 1), xlabel="cells with a gross error, %", ylabel="NMI")
    ax.set_title("wine, mean of 10 draws", size=11)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="center right")


def photographs(folder: Path, places: dict[str, str]) -> None:
    """The report of wine in Chromium, as wide as a desktop window, from the top of each of these
    places.
    """
    from selenium import webdriver

    wine = load_wine(as_frame=True)
    model = RectifiedEulerKMeans(3, random_state=0).fit(wine.data)
    options = webdriver.ChromeOptions()
    options.binary_location = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    )
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"):
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    with tempfile.TemporaryDirectory() as at, webdriver.Chrome(options, service) as browser:
        report = Path(at) / "report.html"
        report.write_text(
            render_page(summary(model, wine.data, y=wine.target, title="Wine")), encoding="utf-8"
        )
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", WINDOW)
        browser.get(report.as_uri())
        for name, place in places.items():
            browser.execute_script("document.querySelector(arguments[0]).scrollIntoView()", place)
            write_compressed(browser.get_screenshot_as_png(), folder / f"{name}.png")


def write_compressed(png: bytes, path: Path) -> None:
    """Write the picture in 256 colours."""
    Image.open(io.BytesIO(png)).convert("RGB").quantize(256).save(path, optimize=True)
    if path.stat().st_size > MOST:
        raise ValueError(
            f"{path} takes {path.stat().st_size} bytes, more than {MOST}: make it smaller."
        )


if __name__ == "__main__":
    main()

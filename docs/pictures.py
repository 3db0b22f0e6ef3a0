"""Draw the committed pictures of docs/images and take screenshots of the wine report:
`python docs/pictures.py`.
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
from rekmeans.displays._style import SOFT, TEXT, cluster_colour, draw_numbered_mark
from rekmeans.html_report.html import render_page

Method = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

IMAGES = Path(__file__).parent / "images"
WIDTH = 15  # standard deviations of a gross error
SHARES = (0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
N_TABLES = 10  # tables with errors per share
LINEAR = 12  # the axes of the first picture are linear from -LINEAR to LINEAR, logarithmic beyond
FRAME = 300  # they end at -FRAME and FRAME, beyond every error
TICKS = (-100, -10, 0, 10, 100)
GROUPS_END = 10  # no group extends beyond this, so a centroid beyond it is on an error
WINDOW = {"width": 1200, "height": 860, "deviceScaleFactor": 1, "mobile": False}  # a desktop
PLACES = {
    "report-wine": "body",
    "report-wine-profile": "#profile",
    "report-wine-circle": "#separation h3",
}
MAX_BYTES = 200_000  # of a picture


def main() -> None:
    with warnings.catch_warnings(action="ignore"):
        first_sight(IMAGES / "first-sight.png")
    take_screenshots(IMAGES, PLACES)


def add_errors(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return X with gross errors in a share of its cells."""
    random = np.random.default_rng(seed)
    noise = X.mean(axis=0) + WIDTH * X.std(axis=0) * random.standard_normal(X.shape)
    return np.where(random.random(X.shape) < share, noise, X)


def kmeans(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels and centroids of k-means on z-scores."""
    scaler = StandardScaler().fit(X)
    model = KMeans(3, n_init=10, random_state=0).fit(scaler.transform(X))
    return model.labels_, scaler.inverse_transform(model.cluster_centers_)


def kmeans_after_cleaning(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and centers of k-means with cells outside Tukey's fences set to the median."""
    low, median, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    reach = 1.5 * (high - low)
    return kmeans(np.where((X < low - reach) | (X > high + reach), median, X))


def rek(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels and centroids of rectified Euler k-means."""
    model = RectifiedEulerKMeans(3, random_state=0).fit(X)
    return model.labels_, model.cluster_centers_


def first_sight(path: Path) -> None:
    """Draw three groups with gross errors, clustered by k-means and by REK, and NMI on wine."""
    figure, axes = plt.subplots(1, 3, figsize=(12.6, 4.4), layout="constrained")
    clean, y = make_blobs(300, centers=[[0, 0], [6, 1], [2, 6]], random_state=0)
    X = add_errors(clean, 0.05, 0)
    is_wrong = X != clean
    draw_clusters(axes[0], X, y, is_wrong, "StandardScaler + KMeans", kmeans)
    draw_clusters(axes[1], X, y, is_wrong, "RectifiedEulerKMeans", rek)
    draw_gross_errors(axes[2])
    figure.savefig(path, dpi=120)
    write_compressed(path.read_bytes(), path)


def draw_clusters(
    ax: plt.Axes, X: np.ndarray, y: np.ndarray, is_wrong: np.ndarray, name: str, method: Method
) -> None:
    """Draw rows, rows with a wrong value and centroids; label each centroid that is on an error."""
    labels, centres = method(X)
    has_error = is_wrong.any(axis=1)
    # linear where the groups are, logarithmic beyond, so that the errors fit into the frame
    ax.set_xscale("symlog", linthresh=LINEAR, linscale=2)
    ax.set_yscale("symlog", linthresh=LINEAR, linscale=2)
    for c, centre in enumerate(centres):
        style = {"color": cluster_colour(c), "ls": "none", "alpha": 0.7}
        ax.plot(*X[(labels == c) & ~has_error].T, marker="o", ms=3.5, mec="none", **style)
        ax.plot(*X[(labels == c) & has_error].T, marker="x", ms=5, **style)
        draw_numbered_mark(ax, c, *centre)
        if np.abs(centre).max() > GROUPS_END:
            ax.annotate(
                "this centroid is\non an error",
                centre,
                (-25, -45),
                color=TEXT,
                size=9,
                ha="center",
                va="center",
                arrowprops={"arrowstyle": "->", "color": TEXT, "shrinkB": 9},
            )
    ax.plot([], [], "o", color=SOFT, ms=3.5, label="row")
    ax.plot([], [], "x", color=SOFT, ms=5, label="row with a wrong value")
    ax.plot([], [], "o", color=SOFT, ms=11, label="centroid")
    ax.legend(frameon=False, loc="upper left", fontsize=8, handletextpad=0.3, borderaxespad=0.2)
    ax.set(xlim=(-FRAME, FRAME), ylim=(-FRAME, FRAME), aspect="equal")
    ax.set_xticks(TICKS, [str(tick) for tick in TICKS])
    ax.set_yticks(TICKS, [str(tick) for tick in TICKS])
    ax.minorticks_off()
    ax.set_xlabel(f"300 rows, {is_wrong.sum()} wrong values (logarithmic beyond ±{LINEAR})")
    ax.set_title(f"{name}: NMI {normalized_mutual_info(y, labels):.2f}", size=11)


def draw_gross_errors(ax: plt.Axes) -> None:
    """Draw NMI on wine against the share of wrong values."""
    wine, classes = load_wine(return_X_y=True)
    lines: tuple[tuple[str, Method, str, str], ...] = (
        ("RectifiedEulerKMeans", rek, cluster_colour(0), "o"),
        (
            "outliers replaced by medians,\nStandardScaler + KMeans",
            kmeans_after_cleaning,
            SOFT,
            "^",
        ),
        ("StandardScaler + KMeans", kmeans, SOFT, "s"),
    )
    for name, method, tint, marker in lines:
        nmi = [mean_nmi(wine, classes, share, method) for share in SHARES]
        ax.plot(np.multiply(SHARES, 100), nmi, f"{marker}-", color=tint, label=name)
    ax.set(ylim=(0, 1), xlabel="wrong values, %", ylabel="NMI with the known classes")
    ax.set_title(f"wine, mean of {N_TABLES} tables with random errors", size=11)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="center right", fontsize=9, bbox_to_anchor=(1, 0.34))


def mean_nmi(X: np.ndarray, y: np.ndarray, share: float, method: Method) -> float:
    """Return the mean NMI over tables with a share of wrong values."""
    tables = (add_errors(X, share, seed) for seed in range(N_TABLES))
    return float(np.mean([normalized_mutual_info(y, method(table)[0]) for table in tables]))


def take_screenshots(folder: Path, places: dict[str, str]) -> None:
    """Take screenshots of the wine report in Chromium, from the top of each of these places."""
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
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(
            f"{path} takes {path.stat().st_size} bytes, more than {MAX_BYTES}. Make it smaller."
        )


if __name__ == "__main__":
    main()

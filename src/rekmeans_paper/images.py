"""Read images as grey pictures (h, w) in 0..1, and folders of classes as paths and labels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .values import Array

IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".pgm", ".ppm", ".tif", ".tiff", ".webp")
LUMA = np.array([299, 587, 114])  # weights of red, green and blue by ITU-R BT.601, in thousandths
# A JPEG without its end marker is truncated. OpenCV 4 fills the rest with grey.
JPEG = b"\xff\xd8"
JPEG_END = b"\xff\xd9"


def folder(
    path: str | os.PathLike[str], *, skip: Sequence[str] = ()
) -> tuple[list[Path], Array, list[str]]:
    """Return the images of a folder that has one subfolder for each class.

    Parameters
    ----------
    path : str or path
        The folder. Each subfolder contains the images of one class.
    skip : sequence of str, default=()
        Names of class folders to ignore, such as ``["BACKGROUND_Google"]`` of Caltech 101.

    Returns
    -------
    paths : list of Path
        The images, sorted by class and then by name.
    y : array of shape (n_images,)
        The class of each image, as an index into `classes`.
    classes : list of str
        The names of the class folders.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rekmeans_paper import folder
    >>> with TemporaryDirectory() as top:
    ...     for name in ("cup/1.png", "ant/7.png", "ant/3.png"):
    ...         (Path(top) / name).parent.mkdir(exist_ok=True)
    ...         (Path(top) / name).touch()
    ...     paths, y, classes = folder(top)
    >>> [path.name for path in paths], y.tolist(), classes
    (['3.png', '7.png', '1.png'], [0, 0, 1], ['ant', 'cup'])
    """
    top = Path(path)
    if not top.is_dir():
        raise NotADirectoryError(
            f"path must be a folder with one subfolder per class, got {top}, which is not a folder."
        )
    folders = {
        each.name: each
        for each in sorted(top.iterdir())
        if each.is_dir() and not each.name.startswith(".")
    }
    if absent := [name for name in skip if name not in folders]:
        raise ValueError(f"skip contains {absent[0]!r}, which is not a class folder of {top}.")
    image_list = {name: _image_files(each) for name, each in folders.items() if name not in skip}
    if not image_list:
        raise ValueError(
            f"{top} contains no class folders. Create one subfolder with images for each class."
        )
    if empty := [name for name, paths in image_list.items() if not paths]:
        endings = ", ".join(IMAGE_ENDINGS)
        raise ValueError(
            f"class folder {top / empty[0]} contains no images ({endings}). Pass skip={empty!r} "
            f"to ignore it."
        )
    y = np.repeat(np.arange(len(image_list)), [len(paths) for paths in image_list.values()])
    return [path for paths in image_list.values() for path in paths], y, list(image_list)


def _image_files(path: Path) -> list[Path]:
    files = (
        each
        for each in path.iterdir()
        if each.suffix.lower() in IMAGE_ENDINGS and not each.name.startswith(".")
    )
    return sorted(files)


def image_list(X: Any) -> list[Any]:
    """Return the images of a transformer's input as a list, without reading them."""
    if isinstance(X, str | bytes | os.PathLike) or not isinstance(X, Iterable):
        value = f"{type(X).__name__} {str(X)!r:.80}"
        raise TypeError(
            f"X must be a list of images or paths, got {value}. Pass [image] or folder(path)[0]."
        )
    if not (images := list(X)):
        raise ValueError("X must contain at least 1 image, got an empty list.")
    return images


def image_name(image: Any, number: int) -> str:
    """Return the name of an image for messages."""
    return str(image) if isinstance(image, str | os.PathLike) else f"image {number}"


def grey_image(image: Any, name: str) -> Array:
    """Return an image as a grey picture (h, w) in 0..1.

    The image is a path or an array of uint8 pixels: (h, w), (h, w, 1) or RGB (h, w, 3).
    """
    pixels = (
        _read_pixels(Path(image), name)
        if isinstance(image, str | os.PathLike)
        else np.asarray(image)
    )
    colours = pixels.shape[2:]
    if pixels.ndim not in (2, 3) or colours not in ((), (1,), (3,)):
        raise ValueError(
            f"an image must have shape (h, w), (h, w, 1) or (h, w, 3) for RGB; {name} has shape "
            f"{pixels.shape}."
        )
    if pixels.dtype != np.uint8:
        raise ValueError(
            f"an image must have dtype uint8, got {pixels.dtype} for {name}. Scale it to 0 to 255 "
            f"and cast it."
        )
    if colours == (3,):
        return (pixels @ LUMA) / (255.0 * LUMA.sum())
    return pixels.reshape(pixels.shape[:2]) / 255.0


def _read_pixels(path: Path, name: str) -> Array:
    """Read the RGB pixels of an image file, (h, w, 3)."""
    try:
        import cv2
    except ImportError:
        raise ImportError(
            "reading image files needs OpenCV: pip install 'rekmeans[paper]'."
        ) from None
    try:
        data = path.read_bytes()
    except OSError as error:
        raise type(error)(
            f"an image must be a readable file, got {name}: {error.strerror}."
        ) from None
    if data.startswith(JPEG) and JPEG_END not in data:
        raise ValueError(
            f"an image must be complete, but {name} is a truncated JPEG. Download it again or "
            f"remove it."
        )
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if pixels is None:
        raise ValueError(
            f"an image must be in a format OpenCV reads, but {name} is damaged or in another "
            f"format. Convert or remove it."
        )
    return np.asarray(pixels)[:, :, ::-1]


def shrink_image(picture: Array, side: int | None) -> Array:
    """Reduce a picture by area averaging so that its longer side has at most `side` pixels."""
    if side is None or max(picture.shape) <= side:
        return picture
    h, w = (max(1, round(n * side / max(picture.shape))) for n in picture.shape)
    return (_area_weights(w, picture.shape[1]) @ (_area_weights(h, picture.shape[0]) @ picture).T).T


def _area_weights(m: int, n: int) -> Any:
    """Return the share of each of n pixels in each of m larger ones, (m, n) CSR with row sums 1."""
    ends = np.arange(m + 1) * (n / m)
    pixels = np.arange(n)
    overlap = np.minimum(ends[1:, None], pixels + 1) - np.maximum(ends[:-1, None], pixels)
    return sparse.csr_array(np.maximum(overlap, 0.0) * (m / n))

"""Images: a path or an array becomes a grey picture (h, w) in 0..1; a folder of classes becomes
paths and labels.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .values import Array

IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".pgm", ".ppm", ".tif", ".tiff", ".webp")
LUMA = np.array([299, 587, 114])  # thousandths of red, green and blue in grey, by ITU-R BT.601
# a JPEG without its end is cut short; OpenCV 4 fills the rest with grey
JPEG = b"\xff\xd8"
JPEG_END = b"\xff\xd9"


def folder(
    path: str | os.PathLike[str], *, skip: Sequence[str] = ()
) -> tuple[list[Path], Array, list[str]]:
    """Return the images of a folder that has one folder for each class.

    Parameters
    ----------
    path : str or path
        The folder; each folder in it is a class and holds its images.
    skip : sequence of str, default=()
        Names of class folders to leave out, such as Caltech 101's ``["BACKGROUND_Google"]``.

    Returns
    -------
    paths : list of Path
        The images, by class and then by name.
    y : array of shape (n_images,)
        Number of the class of each image.
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
            f"a folder of images by class is needed, {top} is none: name the folder above them."
        )
    folders = {
        each.name: each
        for each in sorted(top.iterdir())
        if each.is_dir() and not each.name.startswith(".")
    }
    if absent := [name for name in skip if name not in folders]:
        raise ValueError(f"skip must name class folders of {top}; it has no {absent[0]!r}.")
    image_list = {name: _image_files(each) for name, each in folders.items() if name not in skip}
    if not image_list:
        raise ValueError(
            f"{top} holds no class folders: put the images of each class into a folder of its own "
            f"in it."
        )
    if empty := [name for name, paths in image_list.items() if not paths]:
        endings = ", ".join(IMAGE_ENDINGS)
        raise ValueError(
            f"class folder {top / empty[0]} holds no image ({endings}): skip={empty!r} leaves it "
            f"out."
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
    """The images of a transformer's input as a list, each still unread."""
    if isinstance(X, str | bytes | os.PathLike) or not isinstance(X, Iterable):
        what = f"{type(X).__name__} {str(X)!r:.80}"
        raise TypeError(
            f"X must be a list of images or paths, got {what}: pass [image], or folder(path)[0]."
        )
    if not (images := list(X)):
        raise ValueError("X must hold at least 1 image, got an empty list.")
    return images


def image_name(image: Any, number: int) -> str:
    """What an image is called in a message."""
    return str(image) if isinstance(image, str | os.PathLike) else f"image {number}"


def grey_image(image: Any, name: str) -> Array:
    """A path, or uint8 pixels (h, w), (h, w, 1) or RGB (h, w, 3), as a grey picture (h, w) in
    0..1.
    """
    pixels = (
        _read_pixels(Path(image), name)
        if isinstance(image, str | os.PathLike)
        else np.asarray(image)
    )
    colours = pixels.shape[2:]
    if pixels.ndim not in (2, 3) or colours not in ((), (1,), (3,)):
        raise ValueError(
            f"an image must be (h, w), (h, w, 1) or RGB (h, w, 3); {name} has shape {pixels.shape}."
        )
    if pixels.dtype != np.uint8:
        raise ValueError(
            f"an image must be uint8, 0 to 255; {name} has dtype {pixels.dtype}: scale and cast it."
        )
    if colours == (3,):
        return (pixels @ LUMA) / (255.0 * LUMA.sum())
    return pixels.reshape(pixels.shape[:2]) / 255.0


def _read_pixels(path: Path, name: str) -> Array:
    """The RGB pixels of an image file, (h, w, 3)."""
    try:
        import cv2
    except ImportError:
        raise ImportError("images in files need OpenCV: pip install 'rekmeans[paper]'.") from None
    try:
        data = path.read_bytes()
    except OSError as error:
        raise type(error)(
            f"an image must be a file that can be read; {name} is not: {error.strerror}."
        ) from None
    if data.startswith(JPEG) and JPEG_END not in data:
        raise ValueError(
            f"an image must be complete; {name} is a truncated JPEG: fetch it again or leave it "
            f"out."
        )
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if pixels is None:
        raise ValueError(
            f"an image must be in a format OpenCV reads; {name} is not, or is damaged: leave it "
            f"out."
        )
    return np.asarray(pixels)[:, :, ::-1]


def shrink_image(picture: Array, side: int | None) -> Array:
    """The picture with a longer side of at most `side` pixels, each the mean of the area it stands
    for.
    """
    if side is None or max(picture.shape) <= side:
        return picture
    h, w = (max(1, round(n * side / max(picture.shape))) for n in picture.shape)
    return (_area_weights(w, picture.shape[1]) @ (_area_weights(h, picture.shape[0]) @ picture).T).T


def _area_weights(m: int, n: int) -> Any:
    """Share of each of n pixels in each of m larger ones, (m, n) CSR; rows add up to 1."""
    ends = np.arange(m + 1) * (n / m)
    pixels = np.arange(n)
    overlap = np.minimum(ends[1:, None], pixels + 1) - np.maximum(ends[:-1, None], pixels)
    return sparse.csr_array(np.maximum(overlap, 0.0) * (m / n))

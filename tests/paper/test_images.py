"""Images from files, arrays and folders of classes; errors name the image."""

import sys

import numpy as np
import pytest

from rekmeans_paper import folder
from rekmeans_paper.images import grey_image, image_list, shrink_image
from support.assertions import raises_mentioning

COLOURED = np.random.default_rng(0).integers(0, 256, (40, 56, 3), dtype=np.uint8)


@pytest.fixture
def cv2():
    return pytest.importorskip(
        "cv2", reason="OpenCV is not installed: pip install 'rekmeans[paper]'"
    )


def test_a_grey_value_is_the_luma_of_the_pixel():
    r, g, b = (COLOURED[..., c].astype(float) for c in range(3))
    np.testing.assert_allclose(
        grey_image(COLOURED, "it"), (0.299 * r + 0.587 * g + 0.114 * b) / 255, rtol=1e-12
    )


def test_a_grey_image_does_not_depend_on_its_shape():
    flat = COLOURED[..., 0]
    for image in (flat[..., None], np.repeat(flat[..., None], 3, axis=2)):
        np.testing.assert_array_equal(grey_image(image, "it"), flat / 255)


def test_a_file_and_its_pixels_give_the_same_image(cv2, tmp_path):
    path = tmp_path / "größe.png"
    path.write_bytes(cv2.imencode(".png", COLOURED[..., ::-1])[1].tobytes())
    for name in (path, str(path)):
        np.testing.assert_array_equal(grey_image(name, "it"), grey_image(COLOURED, "it"))


def test_reduction_by_an_integer_factor_is_the_mean_of_blocks():
    picture = COLOURED[..., 1] / 255
    blocks = picture.reshape(10, 4, 14, 4).mean(axis=(1, 3))
    np.testing.assert_allclose(shrink_image(picture, 14), blocks, rtol=1e-12)
    assert shrink_image(picture, 56) is picture
    assert shrink_image(picture, None) is picture


@pytest.mark.parametrize("side", [3, 17, 39, 55])
def test_reduction_keeps_the_mean_and_the_proportions(side):
    picture = COLOURED[..., 1] / 255
    small = shrink_image(picture, side)
    assert small.shape == (round(40 * side / 56), side)
    assert small.mean() == pytest.approx(picture.mean())


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (COLOURED / 255, ["uint8", "float64"]),
        (COLOURED.astype(np.int64), ["uint8", "int64"]),
        (COLOURED[0, 0], ["(h, w)", "(3,)"]),
        (np.zeros((4, 4, 4), np.uint8), ["RGB", "(4, 4, 4)"]),
        (np.zeros((2, 4, 4, 3), np.uint8), ["RGB", "(2, 4, 4, 3)"]),
        (5, ["(h, w)", "()"]),
    ],
)
def test_pixels_that_are_not_an_image_raise(image, words):
    with raises_mentioning(ValueError, "image 7", *words):
        grey_image(image, "image 7")


def test_errors_name_files_that_are_not_images(cv2, tmp_path):
    ramp = np.tile(np.arange(240, dtype=np.uint8), (200, 1))
    jpeg, png = (cv2.imencode(ending, ramp)[1].tobytes() for ending in (".jpg", ".png"))
    spoiled = {
        "text.jpg": (b"no image at all", "a format OpenCV reads"),
        "none.png": (b"", "a format OpenCV reads"),
        # OpenCV 4 fills the rest with grey.
        "cut.jpg": (jpeg[: int(0.9 * len(jpeg))], "complete", "truncated"),
        "cut.png": (png[:60], "a format OpenCV reads"),
    }
    for name, (data, *words) in spoiled.items():
        (tmp_path / name).write_bytes(data)
        with raises_mentioning(ValueError, tmp_path / name, "an image must be", *words):
            grey_image(tmp_path / name, str(tmp_path / name))
    with raises_mentioning(FileNotFoundError, "gone.jpg", "No such file"):
        grey_image("gone.jpg", "gone.jpg")
    with raises_mentioning(IsADirectoryError, tmp_path, "directory"):
        grey_image(tmp_path, str(tmp_path))


def test_files_need_opencv_and_arrays_do_not(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with raises_mentioning(ImportError, "rekmeans[paper]"):
        grey_image(tmp_path / "a.jpg", "a.jpg")
    assert grey_image(COLOURED, "it").shape == (40, 56)


@pytest.mark.parametrize("image", ["photo.jpg", b"photo.jpg", 5, None])
def test_a_single_image_raises(image):
    with raises_mentioning(TypeError, "list", "[image]"):
        image_list(image)


def test_an_empty_list_raises():
    with raises_mentioning(ValueError, "at least 1 image"):
        image_list([])


@pytest.fixture
def classes(tmp_path):
    names = [
        "bee/2.JPG",
        "bee/1.png",
        "bee/notes.txt",
        "bee/._1.png",
        "ant/9.jpeg",
        "cup/x.txt",
        ".git/a.png",
        "top.jpg",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_the_images_of_a_folder_are_sorted_by_class(classes):
    paths, y, names = folder(classes, skip=["cup"])
    assert [path.relative_to(classes).as_posix() for path in paths] == [
        "ant/9.jpeg",
        "bee/1.png",
        "bee/2.JPG",
    ]
    assert y.tolist() == [0, 1, 1]
    assert names == ["ant", "bee"]


def test_folders_without_images_raise(classes):
    with raises_mentioning(ValueError, "cup", "contains no images", "skip=['cup']"):
        folder(classes)
    with raises_mentioning(ValueError, "'dog'", "skip"):
        folder(classes, skip=["dog"])
    with raises_mentioning(ValueError, "no class folders"):
        folder(classes / "bee")
    with raises_mentioning(NotADirectoryError, "top.jpg"):
        folder(classes / "top.jpg")

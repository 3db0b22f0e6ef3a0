"""Kernels and graphs run on the device of their tensors, regardless of the current device."""

import ast
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

import rekmeans.engines.torch  # noqa: E402
from rekmeans.engines.torch.launches import capture_graph, launch_kernel, replay_graph  # noqa: E402

PACKAGE = Path(rekmeans.engines.torch.__file__).parent
SECOND = torch.device("cuda", 1)


def is_launch(node):
    """Return whether a syntax node is kernel[grid](...), or creates or replays a CUDA graph."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Subscript):
        return True
    return isinstance(node.func, ast.Attribute) and node.func.attr in (
        "CUDAGraph",
        "graph",
        "replay",
    )


def test_only_one_module_launches_kernels():
    launching = {
        path.name
        for path in PACKAGE.rglob("*.py")
        if any(map(is_launch, ast.walk(ast.parse(path.read_text()))))
    }
    assert launching <= {"launches.py", "points.py"}
    subscripts = ast.walk(ast.parse((PACKAGE / "points.py").read_text()))
    tables = {ast.unparse(node.func.value) for node in subscripts if is_launch(node)}
    assert tables == {"LOSSES", "PULLS"}  # torch functions, not kernels


@pytest.fixture
def events(monkeypatch):
    """Return the calls of a fake CUDA, with the device that was current for each."""
    made = []
    current = [0]

    @contextmanager
    def device(wanted):
        current.append(wanted.index)
        yield
        current.pop()

    @contextmanager
    def graph(_, stream, capture_error_mode):
        made.append(("capture", current[-1], stream, capture_error_mode))
        yield

    fake_graph = SimpleNamespace(replay=lambda: made.append(("replay", current[-1])))
    monkeypatch.setattr(torch.cuda, "device", device)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: fake_graph)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: f"stream of {device}")
    monkeypatch.setattr(
        torch.cuda, "record", lambda what: made.append((what, current[-1])), raising=False
    )
    yield made
    assert current == [0]


class FakeKernel:
    def __getitem__(self, grid):
        return lambda *_, **options: torch.cuda.record((grid, options["BN"]))


def test_a_kernel_runs_on_the_device_of_its_tensors(events):
    launch_kernel(FakeKernel(), 7, SimpleNamespace(device=SECOND), 3, BN=16)
    launch_kernel(FakeKernel(), 7, torch.zeros(2), 3, BN=16)
    assert events == [(((7,), 16), 1), (((7,), 16), 0)]


def test_a_graph_is_captured_and_replayed_on_its_device(events):
    graph = capture_graph(SECOND, lambda: torch.cuda.record("launch"))
    replay_graph(SECOND, graph)
    assert events == [
        ("capture", 1, "stream of cuda:1", "thread_local"),
        ("launch", 1),
        ("replay", 1),
    ]

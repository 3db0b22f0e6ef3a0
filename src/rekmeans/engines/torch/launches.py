"""Launches of Triton kernels and CUDA graphs, each on the device that holds its tensors."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from triton import JITFunction

ONE_CAPTURE = Lock()  # CUDA graphs can be captured by one thread of a process at a time


def current_device(device: torch.device) -> AbstractContextManager[None]:
    """Return a context in which CUDA uses this device by default.

    Triton launches on the current device, whatever device its tensors are on.
    """
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def launch_kernel(
    kernel: JITFunction, n_programs: int, first: torch.Tensor, *others: object, **options: object
) -> None:
    """Launch a Triton kernel on the device of its first argument."""
    with current_device(first.device):
        kernel[(n_programs,)](first, *others, **options)


def capture_graph(device: torch.device, launches: Callable[[], None]) -> torch.cuda.CUDAGraph:
    """Return a CUDA graph of these launches. None of them may compile a kernel or wait for the
    device.

    The stream is created for this device: torch's default one belongs to the device of the first
    graph of the process. The garbage collector is off, because an older graph that is freed during
    a capture would break it.
    """
    with ONE_CAPTURE, current_device(device):
        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream(device)
        was_collecting = gc.isenabled()
        gc.disable()
        try:
            with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                launches()
        finally:
            if was_collecting:
                gc.enable()
    return graph


def replay_graph(device: torch.device, graph: torch.cuda.CUDAGraph) -> None:
    """Replay a CUDA graph on the current stream of its device."""
    with current_device(device):
        graph.replay()

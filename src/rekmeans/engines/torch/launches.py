"""Launch Triton kernels and CUDA graphs on the device of their tensors."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from triton import JITFunction

ONE_CAPTURE = Lock()  # only one thread of a process can capture a CUDA graph at a time


def current_device(device: torch.device) -> AbstractContextManager[None]:
    """Return a context in which this is the current CUDA device.

    Triton launches kernels on the current device, not on the device of their tensors.
    """
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def launch_kernel(
    kernel: JITFunction, n_programs: int, first: torch.Tensor, *others: object, **options: object
) -> None:
    """Launch a Triton kernel on the device of its first argument."""
    with current_device(first.device):
        kernel[(n_programs,)](first, *others, **options)


def capture_graph(device: torch.device, launches: Callable[[], None]) -> torch.cuda.CUDAGraph:
    """Capture a CUDA graph of these launches, which must not compile a kernel or synchronize.

    The stream is created for this device, because torch's default capture stream belongs to the
    device of the first graph in the process. The garbage collector is disabled, because freeing an
    older graph during a capture would invalidate it.
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

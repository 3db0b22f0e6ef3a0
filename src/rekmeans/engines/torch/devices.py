"""The devices that rows are placed on: the table's own, those that the user names, or the best that
is here.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from ...table.torch import WITHOUT_DOUBLES, TorchTable, is_amd_gpu

NO_AMD_GPU = "does not support AMD GPUs: its error bound is proven for NVIDIA tensor cores only."
# the environment's list, as in "cuda:0,cuda:1"; rows are split over several
DEVICES = "REKMEANS_DEVICES"


def devices_for(table: Any) -> list[torch.device]:
    """Return the devices that rows of this table go to; raise an error for one that is not
    supported.
    """
    if isinstance(table, TorchTable):
        return [table.device]
    devices = named_devices() or [best_device()]
    if any(map(is_amd_gpu, devices)):
        raise ValueError(f"engine='torch' {NO_AMD_GPU} Set {DEVICES}=cpu, or use engine='native'.")
    return devices


def explain_unsupported_device(table: Any) -> str:
    """Return why the device of a tensor's table is not supported, with the fix; '' if it is
    supported.
    """
    return f"{NO_AMD_GPU} Pass X.cpu()." if is_amd_gpu(table.device) else ""


def named_devices() -> list[torch.device]:
    """The devices that the environment names; none where it names none."""
    names = [name.strip() for name in os.environ.get(DEVICES, "").split(",") if name.strip()]
    return [_device_with_doubles(_check_device(name)) for name in names]


def _check_device(name: str) -> torch.device:
    try:
        # with its index: plain "cuda" depends on the thread
        device = torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        build = (
            "" if torch.cuda.is_available() else f" (torch {torch.__version__} sees no CUDA device)"
        )
        raise ValueError(
            f"{DEVICES}={name!r} must name a device of torch, {why}{build}: set it to 'cpu'."
        ) from None
    return device


def best_device() -> torch.device:
    """A CUDA device if there is one, else another with float64, else the processor."""
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    if hasattr(torch, "xpu") and torch.xpu.is_available():
        return torch.device("xpu")
    return torch.device("cpu")


def _device_with_doubles(device: torch.device) -> torch.device:
    return torch.device("cpu") if device.type in WITHOUT_DOUBLES else device


def describe_device() -> str:
    """The device that rows of host tables go to, in words."""
    device = (named_devices() or [best_device()])[0]
    if device.type != "cuda":
        return (
            f"torch {torch.__version__} on the {device.type}, plain operations; no CUDA "
            f"device is visible"
        )
    if is_amd_gpu(device):
        return f"torch {torch.__version__}, which {NO_AMD_GPU} Set {DEVICES}=cpu."
    properties = torch.cuda.get_device_properties(device)
    return (
        f"torch {torch.__version__} on {properties.name}, {properties.total_memory / 2**30:.0f} GiB"
    )

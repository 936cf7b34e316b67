"""The frameworks that Sonde knows: one folder and one line each."""

from __future__ import annotations

from sonde.record.frameworks.base import Framework
from sonde.record.frameworks.mxnet.framework import FRAMEWORK as MXNET
from sonde.record.frameworks.torch.framework import FRAMEWORK as TORCH
from sonde.record.frameworks.torch_native.framework import FRAMEWORK as TORCH_NATIVE

FRAMEWORKS: tuple[Framework, ...] = (TORCH, MXNET, TORCH_NATIVE)

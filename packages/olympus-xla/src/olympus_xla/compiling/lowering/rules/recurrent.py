# SPDX-License-Identifier: Apache-2.0
"""Lowering of long short-term memory (LSTM) on GPUs to cuDNN routines of jaxlib's plugin."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.values import shape_of
from olympus_ir.lax.recurrent import register_reserve_size, rnn_bwd_p, rnn_fwd_p
from olympus_ir.types.avals import get_aval

from .... import _jaxlib
from ....platforms import backends
from ....platforms.plugins.cuda import plugin_library
from ..tables import define_for_platform, lower_with
from .linalg.kernels import kernel


@functools.cache
def _routines() -> Any:
    """Returns the plugin's routines after registering them with XLA; None without a GPU."""
    found = plugin_library()
    if found is None:
        return None
    try:
        backends.devices("cuda")
        module = importlib.import_module(f"jax_{found[0]}_plugin._rnn")
    except (RuntimeError, ImportError):
        return None
    for name, value in module.registrations().items():
        version = 1 if name.endswith("_ffi") else 0
        _jaxlib.register_custom_call_target(name, value, platform="CUDA", api_version=version)
    return module


def _layers(batch_size: int, length: int, params: dict[str, Any]) -> tuple[Any, ...]:
    """Returns the arguments by which the routines describe the layers."""
    return (
        params["input_size"],
        params["hidden_size"],
        params["num_layers"],
        batch_size,
        length,
        params["dropout"],
        params["bidirectional"],
        params["cudnn_allow_tf32"],
    )


def _sizes(batch_size: int, length: int, params: dict[str, Any]) -> tuple[int, int]:
    """Returns the sizes of the routine's workspace and reserve space."""
    return _routines().compute_rnn_workspace_reserve_space_sizes(
        *_layers(batch_size, length, params)
    )


def reserve_size(batch_size: int, length: int, **params: Any) -> int:
    """Returns the size of the reserve space for the backward pass; zero without a GPU."""
    return 0 if _routines() is None else _sizes(batch_size, length, params)[1]


register_reserve_size(reserve_size)


def _descriptor(x: Any, params: dict[str, Any]) -> tuple[int, bytes]:
    """Returns the size of the routine's workspace, and the routine's descriptor."""
    routines = _routines()
    if routines is None:
        raise RuntimeError(
            "the lowering of lstm for GPUs queries cuDNN for the size of its workspace, which "
            "needs the CUDA plugin and a GPU. Lower the program on a machine that has both."
        )
    batch_size, length, _ = shape_of(x)
    workspace, reserve = _sizes(batch_size, length, params)
    opaque = routines.build_rnn_descriptor(*_layers(batch_size, length, params), workspace, reserve)
    return workspace, opaque


def _like(*values: Any) -> list[tuple[tuple[int, ...], Any]]:
    avals: list[Any] = list(map(get_aval, values))
    return [(aval.shape, aval.dtype) for aval in avals]


def _fwd(x: Any, h_0: Any, c_0: Any, w: Any, seq_lengths: Any, **params: Any) -> list[Any]:
    workspace, opaque = _descriptor(x, params)
    operands = (x, h_0, c_0, w, seq_lengths)
    types: Any = rnn_fwd_p.infer(tuple(map(get_aval, operands)), params)[0]
    y, reserve = types[0], types[3]
    results = [
        (y.shape, y.dtype),
        *_like(h_0, c_0),
        ((workspace,), np.float32),
        (reserve.shape, reserve.dtype),
    ]
    y, h_n, c_n, _, kept = kernel(
        "cudnn_rnn_ffi", operands, results, column_major=None, opaque=opaque
    )
    return [y, h_n, c_n, kept]


def _bwd(*operands: Any, **params: Any) -> list[Any]:
    dy, dh_n, dc_n, x, h_0, c_0, w, y, reserve_space, seq_lengths = operands
    workspace, opaque = _descriptor(x, params)
    zeros = lax.full_like(w, 0)  # the routine adds to this operand
    arguments = (dy, dh_n, dc_n, x, h_0, c_0, w, y, reserve_space, zeros, seq_lengths)
    results = [*_like(x, h_0, c_0, w), ((workspace,), np.float32)]
    return kernel(
        "cudnn_rnn_bwd_ffi", arguments, results, aliases={9: 3}, column_major=None, opaque=opaque
    )[:4]


_rules: dict[Any, Callable[..., Any]] = {rnn_fwd_p: _fwd, rnn_bwd_p: _bwd}
for _primitive, _rule in _rules.items():
    define_for_platform(_primitive, "cuda", lower_with(_rule))

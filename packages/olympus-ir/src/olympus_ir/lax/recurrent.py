# SPDX-License-Identifier: Apache-2.0
"""Layers of long short-term memory as one operation, as in cuDNN and MIOpen.

`olympus_nn.recurrent` defines the computation and implements it for other platforms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..programs.primitives import Primitive
from ..types.avals import ShapedArray

__all__ = ["register_reserve_size", "rnn_bwd_p", "rnn_fwd_p"]

# y, h_n, c_n, reserve_space = rnn_fwd[...] x h_0 c_0 weights seq_lengths
rnn_fwd_p = Primitive.declare("rnn_fwd", multiple_results=True, cache_inference=False)
# dx, dh_0, dc_0, dw = rnn_bwd[...] dy dh_n dc_n x h_0 c_0 weights y reserve_space seq_lengths
rnn_bwd_p = Primitive.declare("rnn_bwd", multiple_results=True, cache_inference=False)

# A function of batch size, sequence length and the parameters of the layers. It returns the number
# of values that a GPU keeps for the backward pass; zero without a GPU.
_reserve_size: Callable[..., int] | None = None


def register_reserve_size(function: Callable[..., int]) -> None:
    """Registers the function that gets the size of the reserve space from the GPU's library."""
    global _reserve_size
    _reserve_size = function


@rnn_fwd_p.def_abstract_eval
def rnn_abstract_eval(
    x_aval: ShapedArray,
    h_0_aval: ShapedArray,
    c_0_aval: ShapedArray,
    w_aval: ShapedArray,
    seq_lengths_aval: ShapedArray,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    cudnn_allow_tf32: bool,
) -> Sequence[ShapedArray]:
    """Returns the types of the results of `rnn_fwd`."""
    batch_size, length, features = x_aval.shape
    if features != input_size:
        raise ValueError(
            f"lstm takes x of shape (batch, length, input_size={input_size}), got {x_aval.shape}"
        )
    directions = 2 if bidirectional else 1
    states = (directions * num_layers, batch_size, hidden_size)
    for name, aval in (("h_0", h_0_aval), ("c_0", c_0_aval)):
        if aval.shape != states:
            raise ValueError(f"lstm takes {name} of shape {states}, got {aval.shape}")
    size = 0
    if _reserve_size is not None:
        size = _reserve_size(
            batch_size,
            length,
            input_size=input_size,
            hidden_size=hidden_size,
            num_layers=num_layers,
            dropout=dropout,
            bidirectional=bidirectional,
            cudnn_allow_tf32=cudnn_allow_tf32,
        )
    return [
        ShapedArray((batch_size, length, directions * hidden_size), x_aval.dtype),
        h_0_aval,
        c_0_aval,
        ShapedArray((size,), np.dtype(np.float32)),
    ]


@rnn_bwd_p.def_abstract_eval
def rnn_bwd_abstract_eval(
    dy_aval: ShapedArray,
    dhn_aval: ShapedArray,
    dcn_aval: ShapedArray,
    x_aval: ShapedArray,
    h0_aval: ShapedArray,
    c0_aval: ShapedArray,
    w_aval: ShapedArray,
    y_aval: ShapedArray,
    reserve_space_aval: ShapedArray,
    seq_lengths_aval: ShapedArray,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    cudnn_allow_tf32: bool,
) -> Sequence[ShapedArray]:
    """Returns the types of the results of `rnn_bwd`."""
    return [x_aval, h0_aval, c0_aval, w_aval]

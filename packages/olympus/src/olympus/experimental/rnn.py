# SPDX-License-Identifier: Apache-2.0
"""Long short-term memory (LSTM), computed by cuDNN on GPUs."""

from typing import Any as PRNGKeyArray

from olympus_ir.lax.recurrent import rnn_abstract_eval, rnn_bwd_abstract_eval
from olympus_nn.activations import sigmoid, tanh
from olympus_nn.recurrent import (
    get_num_params_in_lstm,
    init_lstm_weight,
    lstm,
    lstm_bwd,
    lstm_fwd,
    lstm_ref,
    rnn_bwd_p,
    rnn_fwd_p,
    swap_lstm_gates,
    unpack_lstm_weights,
)
from olympus_xla.compiling.lowering.rules import recurrent as recurrent

from .._faces import present as _present

__all__ = [
    "PRNGKeyArray",
    "get_num_params_in_lstm",
    "init_lstm_weight",
    "lstm",
    "lstm_bwd",
    "lstm_fwd",
    "lstm_ref",
    "rnn_abstract_eval",
    "rnn_bwd_abstract_eval",
    "rnn_bwd_p",
    "rnn_fwd_p",
    "sigmoid",
    "swap_lstm_gates",
    "tanh",
    "unpack_lstm_weights",
]

_present(__name__)

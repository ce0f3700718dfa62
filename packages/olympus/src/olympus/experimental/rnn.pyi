# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.lax.recurrent import rnn_abstract_eval as rnn_abstract_eval
from olympus_ir.lax.recurrent import rnn_bwd_abstract_eval as rnn_bwd_abstract_eval
from olympus_ir.lax.recurrent import rnn_bwd_p as rnn_bwd_p
from olympus_ir.lax.recurrent import rnn_fwd_p as rnn_fwd_p
from olympus_nn.activations import sigmoid as sigmoid
from olympus_nn.recurrent import get_num_params_in_lstm as get_num_params_in_lstm
from olympus_nn.recurrent import init_lstm_weight as init_lstm_weight
from olympus_nn.recurrent import lstm as lstm
from olympus_nn.recurrent import lstm_bwd as lstm_bwd
from olympus_nn.recurrent import lstm_fwd as lstm_fwd
from olympus_nn.recurrent import lstm_ref as lstm_ref
from olympus_nn.recurrent import swap_lstm_gates as swap_lstm_gates
from olympus_nn.recurrent import unpack_lstm_weights as unpack_lstm_weights
from olympus_numpy.elementwise.trigonometry import tanh as tanh
from typing import Any
import olympus_xla.compiling.lowering.rules.recurrent as recurrent
PRNGKeyArray: Any

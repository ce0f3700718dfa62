# SPDX-License-Identifier: Apache-2.0
"""Lowering of long short-term memory for GPUs, with a fake plugin."""

from __future__ import annotations

import types

import numpy as np
import pytest

import olympus
from olympus.experimental import rnn
from olympus_xla.compiling.lowering.rules import recurrent


@pytest.fixture
def plugin(monkeypatch):
    described = []

    def build(*numbers):
        described.append(numbers)
        return b"\x01\xffopaque"

    routines = types.SimpleNamespace(
        compute_rnn_workspace_reserve_space_sizes=lambda *sizes: (11, 7),
        build_rnn_descriptor=build,
    )
    monkeypatch.setattr(recurrent, "_routines", lambda: routines)
    return described


def operands():
    x, state = np.zeros((2, 5, 3), np.float32), np.zeros((2, 2, 4), np.float32)
    count = rnn.get_num_params_in_lstm(3, 4, 1, True)
    return x, state, state, np.zeros(count, np.float32), np.array([5, 3], np.int32)


def lowered(fun):
    return olympus.jit(fun).trace(*operands()).lower(lowering_platforms=("cuda",)).as_text()


def test_forward_and_backward_pass(plugin):
    def run(*values):
        return rnn.lstm(*values, 3, 4, 1, 0.25, True, olympus.lax.Precision.HIGHEST)[0]

    text = lowered(run)
    assert "@cudnn_rnn_ffi" in text and 'opaque = "\\01\\FFopaque"' in text
    assert "tensor<11xf32>" in text and "tensor<7xf32>" in text
    assert plugin[0] == (3, 4, 1, 2, 5, 0.25, True, False, 11, 7)
    text = lowered(olympus.grad(lambda *values: run(*values).sum(), argnums=(0, 1, 2, 3)))
    assert "@cudnn_rnn_bwd_ffi" in text and "operand_index = 9" in text


def test_lowering_for_cpu_raises():
    if recurrent._routines() is not None:
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="queries cuDNN for the size"):
        lowered(lambda *values: rnn.lstm(*values, 3, 4, 1, 0.0, True))

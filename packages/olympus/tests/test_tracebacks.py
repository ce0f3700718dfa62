# SPDX-License-Identifier: Apache-2.0
"""Errors of the user's functions show only the user's lines."""

import traceback

import numpy as np
import pytest

import olympus
from olympus import jit, lax

XS = np.ones(3, np.float32)


def fails(*operands):
    raise AssertionError("by intent")


CALLS = {
    "scan": lambda: lax.scan(fails, 0, XS),
    "map": lambda: lax.map(fails, XS),
    "cond": lambda: lax.cond(True, fails, lambda x: x, 1.0),
    "switch": lambda: lax.switch(1, [fails, fails], 1.0),
    "while_loop": lambda: lax.while_loop(fails, lambda x: x, 1.0),
    "fori_loop": lambda: lax.fori_loop(0, 3, fails, 1.0),
    "associative_scan": lambda: lax.associative_scan(fails, XS),
    "vmap": lambda: olympus.vmap(fails)(XS),
    "grad": lambda: olympus.grad(fails)(1.0),
    "jit": lambda: jit(fails)(1.0),
    "lower": lambda: jit(fails).lower(1.0),
    "eval_shape": lambda: olympus.eval_shape(fails, 1.0),
    "make_olympuspr": lambda: olympus.make_olympuspr(fails)(1.0),
}


@pytest.mark.parametrize("call", CALLS)
def test_only_the_users_frames_are_shown(call):
    with pytest.raises(AssertionError, match="by intent") as caught:
        CALLS[call]()
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__}
    assert [frame.name for frame in frames][1:] == ["<lambda>", "fails"]
    assert len(caught.value.__notes__) == 1

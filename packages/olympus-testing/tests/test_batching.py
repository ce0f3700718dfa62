# SPDX-License-Identifier: Apache-2.0
"""`check_vmap` finds wrong batched functions and accepts right ones."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_testing import check_vmap


def vmap(fun, /, *, in_axes, out_axes):
    def batched(*args):
        size = next(
            arg.shape[axis] for arg, axis in zip(args, in_axes, strict=True) if axis is not None
        )
        rows = [
            [
                arg if axis is None else np.take(arg, index, axis)
                for arg, axis in zip(args, in_axes, strict=True)
            ]
            for index in range(size)
        ]
        return np.stack([fun(*row) for row in rows], out_axes)

    return batched


GENERATOR = np.random.default_rng(0)
EXAMPLES = [(GENERATOR.standard_normal((2, 3)), GENERATOR.standard_normal(3)) for _ in range(4)]


def matrix_and_vector(x, y):
    return x * y


def test_correct_functions_pass():
    check_vmap(matrix_and_vector, EXAMPLES, vmap=vmap)


def test_all_axes_are_tested():
    tried = []

    def recording(fun, /, *, in_axes, out_axes):
        tried.append((in_axes, out_axes))
        return vmap(fun, in_axes=in_axes, out_axes=out_axes)

    check_vmap(matrix_and_vector, EXAMPLES, vmap=recording)
    assert ((0, 0), 0) in tried and ((-1, -1), 0) in tried and ((0, 0), -1) in tried
    assert ((0, None), 0) in tried and ((None, -1), 0) in tried
    tried.clear()
    check_vmap(matrix_and_vector, EXAMPLES, vmap=recording, batchable=[1])
    assert {in_axes for in_axes, _ in tried} == {(None, 0), (None, -1)}


def test_incorrect_functions_are_detected():
    def wrong(fun, /, *, in_axes, out_axes):
        return lambda *args: vmap(fun, in_axes=in_axes, out_axes=out_axes)(*args) + 1

    with pytest.raises(AssertionError, match=r"vmap with in_axes=\(0, 0\), out_axes=0"):
        check_vmap(matrix_and_vector, EXAMPLES, vmap=wrong)


def test_ignored_axes_are_detected():
    def wrong(fun, /, *, in_axes, out_axes):
        return vmap(fun, in_axes=in_axes, out_axes=0)

    with pytest.raises(AssertionError, match="out_axes=-1"):
        check_vmap(matrix_and_vector, EXAMPLES, vmap=wrong)

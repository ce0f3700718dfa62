# SPDX-License-Identifier: Apache-2.0
"""Batched samples of each primitive, compared with a loop over examples."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_testing import cases, check_vmap

CASES = [case for case in cases() if case.batchable]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_batches_of_samples_equal_a_loop(case):
    with case.context():
        check_vmap(
            case.run,
            case.examples(3),
            vmap=vmap,
            batchable=case.batchable,
            rtol=case.tolerance,
        )


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.label.endswith("float32")], ids=str
)
def test_nested_batches_of_samples_equal_a_loop(case):
    with case.context():
        examples = case.examples(4)
        pairs = [
            [_pair(first, second) for first, second in zip(*examples[place : place + 2])]
            for place in (0, 2)
        ]
        in_axes = tuple(0 if place in case.batchable else None for place in range(len(pairs[0])))
        check_vmap(
            vmap(case.run, in_axes=in_axes),
            [
                [
                    pair if axis is not None else pair[0]
                    for pair, axis in zip(each, in_axes, strict=True)
                ]
                for each in pairs
            ],
            vmap=vmap,
            batchable=case.batchable,
            rtol=case.tolerance,
        )


def _pair(first, second):
    return np.stack([np.asarray(first), np.asarray(second)])

# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of the compiler's generators of random bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax

from .declarations import Operand, Operation, sample, samples

_WORDS = Operand((4,), (0, 2**32 - 1), np.uint32)
# From this state, the counter wraps around.
_AT_THE_END = np.array([1, 2, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32)


def _bits(label: str, key: Any, shape: tuple, algorithm: Any, dtypes: Any) -> Operation:
    return Operation(
        label,
        (key,),
        lambda dtype: {
            "shape": shape,
            "dtype": dtype,
            "algorithm": algorithm,
            "out_sharding": None,
        },
        dtypes,
        differentiable=False,
        batchable=False,  # under vmap, the batch shares one state, so a loop draws other bits
    )


_ALL = (np.uint8, np.uint16, np.uint32, np.uint64)

sample(
    lax.rng_bit_generator_p,
    *(
        _bits(f"{algorithm.name}-{'x'.join(map(str, shape))}", _WORDS, shape, algorithm, dtypes)
        for algorithm in lax.RandomAlgorithm
        for shape, dtypes in (
            ((), _ALL),
            ((9,), _ALL),
            ((2, 3), _ALL),
            ((5, 3), _ALL),
            ((0,), _ALL),
        )
    ),
    *(
        _bits(f"{algorithm.name}-overflow", _AT_THE_END, (17,), algorithm, (np.uint32,))
        for algorithm in lax.RandomAlgorithm
    ),
    _bits(
        "wide_key",
        Operand((2,), (0, 2**62), np.uint64),
        (3,),
        lax.RandomAlgorithm.RNG_DEFAULT,
        (np.uint32,),
    ),
)
samples.exempt(lax.rng_uniform_p, reason="draws from a hidden state: no two runs agree")

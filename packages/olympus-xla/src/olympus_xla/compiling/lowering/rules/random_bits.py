# SPDX-License-Identifier: Apache-2.0
"""Lowering of the compiler's generators of random bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax

from .. import mlir
from ..context import LoweringContext
from ..tables import lowering_rules

_UINT64 = np.dtype(np.uint64)
_ALGORITHMS = {
    lax.RandomAlgorithm.RNG_DEFAULT: "DEFAULT",
    lax.RandomAlgorithm.RNG_THREE_FRY: "THREE_FRY",
    lax.RandomAlgorithm.RNG_PHILOX: "PHILOX",
}


@lowering_rules.define(lax.rng_bit_generator_p)
def _rng_bit_generator(
    context: LoweringContext, key: Any, *, algorithm: Any, **params: Any
) -> list[Any]:
    aval = context.avals_in[0]
    state_type = mlir.tensor_type((2,), _UINT64)
    in_words = aval.dtype != _UINT64
    if in_words:
        key = context.reshape(key, (2, 2), aval.dtype)
        key = context.create("stablehlo.bitcast_convert", state_type, (key,))
    name = _ALGORITHMS[algorithm]
    new_key, bits = context.operation(
        "stablehlo.rng_bit_generator",
        [state_type, context.result_types[1]],
        [key],
        {"rng_algorithm": mlir.parsed(f"#stablehlo<rng_algorithm {name}>")},
    ).results
    if in_words:
        words = mlir.tensor_type((2, 2), aval.dtype)
        new_key = context.create("stablehlo.bitcast_convert", words, (new_key,))
        new_key = context.reshape(new_key, aval.shape, aval.dtype)
    return [new_key, bits]


@lowering_rules.define(lax.rng_uniform_p)
def _rng_uniform(context: LoweringContext, low: Any, high: Any, *, shape: tuple[int, ...]) -> Any:
    return context.create(
        "stablehlo.rng",
        mlir.aval_type(context.aval_out),
        (low, high, context.constant(np.asarray(shape, np.int64))),
        {"rng_distribution": mlir.parsed("#stablehlo<rng_distribution UNIFORM>")},
    )

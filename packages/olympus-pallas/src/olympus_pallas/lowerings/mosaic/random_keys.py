# SPDX-License-Identifier: Apache-2.0
"""Lowering of random keys to Mosaic, as scalars of key data."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types.avals import ShapedArray
from olympus_random.keys.primitives import (
    random_bits_p,
    random_clone_p,
    random_fold_in_p,
    random_unwrap_p,
    random_wrap_p,
)

from ...mlir.elementwise import cast
from ...mlir.tables import mosaic_rules
from ...tpu.random_numbers import folded_words
from .builder import MosaicBuilder
from .memory import KeyWords

_UINT32 = np.dtype(np.uint32)


def _same(builder: MosaicBuilder, x: Any, **params: Any) -> Any:
    return x


for _primitive in (
    random_wrap_p,
    random_unwrap_p,
    random_clone_p,
    lax.to_edtype_p,
    lax.from_edtype_p,
):
    mosaic_rules.define(_primitive, _same)


@mosaic_rules.define(random_bits_p)
def _random_bits(builder: MosaicBuilder, keys: Any, *, bit_width: int, shape: Any) -> Any:
    if not isinstance(keys, KeyWords):
        return builder.expand(expansion_rules[random_bits_p], (keys,))
    builder.operation("tpu.prng_set_seed_32", [], keys.words)
    kind = builder.value_type(ShapedArray(shape, _UINT32))
    bits = builder.create("tpu.prng_random_bits", kind)
    return cast(builder, bits, _UINT32, np.dtype(f"uint{bit_width}"))


@mosaic_rules.define(random_fold_in_p)
def _random_fold_in(builder: MosaicBuilder, keys: Any, data: Any) -> Any:
    if not isinstance(keys, KeyWords):
        return builder.expand(expansion_rules[random_fold_in_p], (keys, data))
    dtype = np.dtype(builder.avals_in[1].dtype)
    word = ShapedArray((), _UINT32)
    closed = trace_to_closed(lambda *words: list(folded_words(*words)), [word] * 3)
    number = cast(builder, data, dtype, _UINT32)
    return KeyWords(tuple(builder.lower(closed, (*keys.words, number))))

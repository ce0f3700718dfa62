# SPDX-License-Identifier: Apache-2.0
"""Records what jax 0.10.2 promotes to what, for test_promotion.py.

Run with the interpreter of an environment that has jax 0.10.2 and ml_dtypes 0.6:

    python record_promotion.py > promotion.json

Operands are written as the dtype's name, with ``*`` for a weak type. A result is an index into
``operands``, or -1 where jax refuses. ``pairs`` holds, for each mode, the lower triangle row by
row; ``triples`` a sample of operands' indices and result; ``promote_types`` the lower triangle of
``jax.numpy.promote_types`` over the strong dtypes.
"""

import functools
import itertools
import json
import random
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.lax.lax import _convert_element_type

warnings.simplefilter("ignore")

DTYPES = """bool int1 int2 int4 int8 int16 int32 int64 uint1 uint2 uint4 uint8 uint16 uint32 uint64
float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn
float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu bfloat16 float16 float32 float64
complex64 complex128""".split()
WEAK = """int8 int16 int32 int64 uint8 uint16 uint32 uint64 bfloat16 float16 float32 float64
complex64 complex128""".split()
OPERANDS = DTYPES + [name + "*" for name in WEAK]
COMMON = ["bool", *WEAK, *(name + "*" for name in WEAK)]


@functools.cache
def make_operand(name, x64):
    if not name.endswith("*"):
        return getattr(jnp, name).dtype
    dtype = jax.dtypes.canonicalize_dtype(getattr(jnp, name[:-1]).dtype)
    return _convert_element_type(np.zeros((), np.float32), dtype, weak_type=True)


def operand(name):
    return make_operand(name, jax.config.jax_enable_x64)


def result(names):
    try:
        dtype, weak = jax.dtypes.result_type(*map(operand, names), return_weak_type_flag=True)
    except jax.dtypes.TypePromotionError:
        return -1
    return OPERANDS.index(dtype.name + "*" * weak)


def promoted(first, second):
    try:
        return OPERANDS.index(jnp.promote_types(operand(first), operand(second)).name)
    except jax.dtypes.TypePromotionError:
        return -1


random.seed(0)
triples = [[random.randrange(len(OPERANDS)) for _ in range(3)] for _ in range(500)]
common = [OPERANDS.index(name) for name in COMMON]
triples += [[random.choice(common) for _ in range(random.choice((3, 4)))] for _ in range(1000)]
record = {
    "jax": jax.__version__,
    "operands": OPERANDS,
    "pairs": {},
    "triples": {},
    "promote_types": {},
}
for x64, mode in itertools.product((False, True), ("standard", "strict")):
    key = f"{'x64' if x64 else 'x32'}-{mode}"
    with jax.enable_x64(x64), jax.numpy_dtype_promotion(mode):
        record["pairs"][key] = [
            result([a, b]) for i, a in enumerate(OPERANDS) for b in OPERANDS[: i + 1]
        ]
        record["triples"][key] = [
            [*indices, result([OPERANDS[i] for i in indices])] for indices in triples
        ]
        record["promote_types"][key] = [
            promoted(a, b) for i, a in enumerate(DTYPES) for b in DTYPES[: i + 1]
        ]
    print(key, file=sys.stderr)
json.dump(record, sys.stdout, separators=(",", ":"))

# SPDX-License-Identifier: Apache-2.0
"""Records what jax 0.10.2 knows of dtypes and flags, for test_dtypes.py and test_config.py.

Run with the interpreter of an environment that has jax 0.10.2 and ml_dtypes 0.6:

    python record_dtypes.py > dtypes_and_flags.json
"""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import dtypes
from jax._src.core import ShapedArray
from jaxlib import _jax

DTYPES = """bool int1 int2 int4 int8 int16 int32 int64 uint1 uint2 uint4 uint8 uint16 uint32 uint64
float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn
float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu bfloat16 float16 float32 float64
complex64 complex128""".split()
ABSTRACT = """generic number integer signedinteger unsignedinteger inexact floating complexfloating
bool_ character flexible""".split()


def attempt(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error).__name__


def facts(name):
    dtype = getattr(jnp, name).dtype
    with jax.enable_x64(False):
        canonical = jax.dtypes.canonicalize_dtype(dtype).name
    with jax.enable_x64(True):
        return {
            "canonical_x32": canonical,
            "short": ShapedArray((), dtype).str_short(True).removesuffix("[]"),
            "bits": jax.dtypes.itemsize_bits(dtype),
            "scalar_type": jax.dtypes.scalar_type_of(np.zeros((), dtype)).__name__,
            "subtype_of": [kind for kind in ABSTRACT if jnp.issubdtype(dtype, getattr(np, kind))],
            "to_inexact": attempt(lambda: dtypes.to_inexact_dtype(dtype).name),
            "to_numeric": attempt(lambda: dtypes.to_numeric_dtype(dtype).name),
            "to_floating": attempt(lambda: dtypes.to_floating_dtype(dtype).name),
            "to_complex": attempt(lambda: dtypes.to_complex_dtype(dtype).name),
        }


def flag_facts(name):
    _, _, options = jax.config.meta[name]
    values = options.get("enum_values")
    if "enum_class" in options:
        values = [member.name.lower() for member in options["enum_class"]]
    default = jax.config.values[name]
    return {
        "default": default.name.lower() if hasattr(default, "name") else default,
        "choices": values,
        "in_trace_context": name in _jax.config.trace_context_names(),
        "context_manager": hasattr(jax, name.removeprefix("jax_")),
    }


record = {
    "jax": jax.__version__,
    "dtypes": {name: facts(name) for name in DTYPES},
    "flags": {name: flag_facts(name) for name in jax.config.values if name.startswith("jax_")},
}
json.dump(record, sys.stdout, indent=1)

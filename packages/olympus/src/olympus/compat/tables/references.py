# SPDX-License-Identifier: Apache-2.0
"""Names of JAX's private module of NumPy functions. Tests compare functions of lax with them."""

from __future__ import annotations

from olympus._lazy import names_from

_FUNCTIONS = "olympus.compat.counterparts.numpy_functions"
_CONTRACTIONS = "olympus.compat.counterparts.numpy_contractions"

# The functions that NumPy has.
_OF_NUMPY = (
    *("abs=absolute", "acos=arccos", "acosh=arccosh", "add", "asin=arcsin", "asinh=arcsinh"),
    *("atan=arctan", "atan2=arctan2", "atanh=arctanh", "bitwise_and", "bitwise_not"),
    *("bitwise_or", "bitwise_xor", "cbrt", "ceil", "cos", "cosh", "dot", "eq=equal", "exp"),
    *("exp2", "expm1", "floor", "ge=greater_equal", "gt=greater", "imag", "is_finite=isfinite"),
    *("le=less_equal", "log", "log1p", "lt=less", "max=maximum", "min=minimum", "ne=not_equal"),
    *("neg=negative", "nextafter", "pow=power", "real", "reciprocal", "select=where"),
    *("shift_left=left_shift", "shift_right_arithmetic=right_shift", "sin", "sinh", "sort"),
    *("sqrt", "square", "squeeze", "sub=subtract", "sum", "tan", "tanh", "transpose"),
)

_OF_LAX = (
    *("bessel_i0e", "bessel_i1e", "betainc", "bitcast_convert_type", "broadcast"),
    *("broadcast_in_dim", "clamp", "clz", "complex=complex_of_parts", "concatenate", "conj"),
    *("convert_element_type", "digamma", "div", "dynamic_slice", "dynamic_update_slice", "erf"),
    *("erf_inv", "erfc", "igamma", "igammac", "lgamma", "logistic", "mul", "mulhi", "pad"),
    *("population_count", "rem", "reshape", "rev", "round=round_away_from_zero", "rsqrt"),
    *("shift_right_logical", "sign", "slice=slice_of", "sort_key_val", "top_k"),
)

REFERENCES: dict[str, dict[str, str]] = {
    "lax_reference": {
        **names_from("numpy", *_OF_NUMPY),
        **names_from(_FUNCTIONS, *_OF_LAX),
        **names_from(_CONTRACTIONS, "conv", "conv_general_dilated", "conv_with_general_padding"),
        **names_from(_CONTRACTIONS, "dot_general", "ragged_dot", "reduce", "reduce_window"),
        **names_from("olympus.lax", "padtype_to_pads"),
    },
}

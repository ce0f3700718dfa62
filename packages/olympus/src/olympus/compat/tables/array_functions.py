# SPDX-License-Identifier: Apache-2.0
"""Names of JAX's private modules of array functions: lax, numpy, scipy, random, nn."""

from __future__ import annotations

from olympus._lazy import names_from

_OPERANDS = "olympus.compat.counterparts.operands"
_DECLARATIONS = "olympus.compat.counterparts.declarations"
_TREES = "olympus.compat.counterparts.trees"
_VECTORIZATION = "olympus_numpy.elementwise.vectorization"
_PROMOTION = "olympus_numpy.core.promotion"
_THREEFRY = "olympus_random.generators.threefry"

_LAX_UTILS = {
    **names_from(_DECLARATIONS, "input_dtype", "standard_primitive"),
    **names_from("olympus_ir.types.dtypes", "dtype_to_string=name_of"),
}

_LAX = {
    **_LAX_UTILS,
    **names_from(_OPERANDS, "_const=const", "_convert_element_type=convert_element_type"),
    **names_from(_OPERANDS, "_dtype=dtype_of", "_eye=eye", "_get_max_identity=max_identity"),
    **names_from(_OPERANDS, "_get_min_identity=min_identity", "_get_prod_identity=prod_identity"),
    **names_from(_OPERANDS, "_get_sum_identity=sum_identity", "_isnan=is_nan", "_one=one"),
    **names_from(_OPERANDS, "_ones=ones", "_tri=tri", "_unbroadcast=unbroadcast"),
    **names_from(_OPERANDS, "_try_broadcast_shapes=try_broadcast_shapes", "_zero=zero"),
    **names_from(_OPERANDS, "_zeros=zeros", "ranges_like", "remaining"),
    **names_from(_OPERANDS, "zeros_like_shaped_array"),
    **names_from(_DECLARATIONS, "_complex=COMPLEX", "_float=FLOATS", "_int=INTEGERS"),
    **names_from(_DECLARATIONS, "_num=NUMBERS", "broadcasting_shape_rule", "naryop"),
    **names_from(_DECLARATIONS, "check_same_dtypes=same_dtypes", "naryop_dtype_rule"),
    **names_from(_DECLARATIONS, "standard_naryop", "unop"),
    **names_from(_DECLARATIONS, "unop_dtype_rule"),
    **names_from("olympus", "Array"),
    **names_from("olympus_ir.types.dtypes", "DType"),
    **names_from("olympus.core", "ShapedArray"),
    **names_from("olympus_ir.lax", "_array_copy=copy"),
    **names_from("olympus_ir.lax.core.values", "asarray=as_array"),
    **names_from("olympus_ir.lax.tokens", "no_dce_effect"),
    **names_from("builtins", "_max=max", "_min=min"),
}

_NUMPY_UTIL = {
    **names_from(_PROMOTION, "check_arraylike", "promote_args", "promote_args_inexact"),
    **names_from(_PROMOTION, "promote_args_numeric", "promote_dtypes", "promote_dtypes_inexact"),
    **names_from(_PROMOTION, "promote_shapes"),
    **names_from("olympus.compat.promotion", "promote_dtypes_complex"),
    **names_from(_OPERANDS, "_arraylike=is_arraylike", "check_arraylike_or_none"),
    **names_from(_OPERANDS, "check_for_prngkeys", "check_no_float0s", "ensure_arraylike"),
    **names_from(_OPERANDS, "ensure_arraylike_tuple", "promote_dtypes_numeric"),
    **names_from("olympus.numpy", "_broadcast_arrays=broadcast_arrays"),
    **names_from("olympus.numpy", "_broadcast_to=broadcast_to", "_where=where"),
}

ARRAY_FUNCTIONS: dict[str, dict[str, str]] = {
    "blocked_sampler": names_from(
        "olympus.compat.counterparts.blocked_samples", "blocked_fold_in", "sample_block"
    ),
    "lax.lax": _LAX,
    "lax.linalg": names_from("olympus_ir.lax.linalg.matrices", "symmetrize"),
    "lax.other": names_from("olympus.numpy", "logaddexp", "logaddexp2"),
    "lax.scaled_dot": names_from("olympus_ir.lax.contractions.scaled_products", "scaled_dot"),
    "lax.utils": {
        **_LAX_UTILS,
        **names_from(_DECLARATIONS, "_argnum_weak_type=argnum_weak_type"),
    },
    "nn.initializers": names_from(
        "olympus_nn.initializers",
        "_complex_truncated_normal=_truncated_complex_normal",
        "_complex_uniform=_in_disk",
    ),
    "numpy.array_methods": names_from(
        "olympus_numpy.indexing.updates",
        "_IndexUpdateHelper=Updates",
        "_IndexUpdateRef=IndexedUpdate",
    ),
    "numpy.index_tricks": names_from(
        "olympus_numpy.numerics.index_tricks", "CClass=_C", "RClass=_R"
    ),
    "numpy.linalg": {
        **names_from(
            "olympus_numpy.linalg.factoring", "EigResult", "EighResult", "QRResult", "SVDResult"
        ),
        **names_from("olympus_numpy.linalg.determinants", "SlogdetResult"),
    },
    "numpy.scalar_types": names_from("olympus_numpy.arrays.scalar_types", "_ScalarMeta=ScalarType"),
    "numpy.setops": names_from(
        "olympus_numpy.ordering.sets",
        *("_UniqueAllResult", "_UniqueCountsResult", "_UniqueInverseResult"),
    ),
    "numpy.util": _NUMPY_UTIL,
    "numpy.vectorize": {
        **names_from(_VECTORIZATION, "_parse_gufunc_signature=_parse_signature"),
        **names_from(
            "olympus.compat.vectorization",
            "_apply_excluded=apply_excluded",
            "_check_output_dims=check_output_dims",
            "_parse_input_dimensions=parse_input_dimensions",
        ),
    },
    "random.threefry2x32": names_from(
        _THREEFRY,
        *("threefry_fold_in=_fold_in", "threefry_random_bits=_random_bits"),
        *("threefry_seed=_seed", "threefry_split=_split"),
    ),
    "scipy.optimize.bfgs": names_from("olympus_scipy.optimize.bfgs", "minimize_bfgs"),
    "scipy.optimize.line_search": names_from("olympus_scipy.optimize.line_search", "line_search"),
    "scipy.sparse.linalg": {
        **names_from(_TREES, "_add=add", "_identity=identity", "_mul=multiply", "_norm=norm"),
        **names_from(_TREES, "_sub=subtract", "_vdot_real_tree=vdot_real_tree"),
        **names_from(_TREES, "_vdot_tree=vdot_tree"),
        **names_from("olympus_scipy.sparse.linalg", "_normalize_matvec=_operator"),
    },
    "scipy.stats._core": names_from("olympus_scipy.stats.statistics", "ModeResult"),
    "third_party.scipy.betaln": names_from("olympus_scipy.special.gamma_functions", "betaln"),
    "third_party.scipy.interpolate": names_from(
        "olympus_scipy.interpolate", "RegularGridInterpolator"
    ),
    "third_party.scipy.special": names_from("olympus_scipy.special.error_functions", "fresnel"),
}

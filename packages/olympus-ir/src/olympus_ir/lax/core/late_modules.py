# SPDX-License-Identifier: Apache-2.0
"""Modules of the instruction set that are loaded when one of their names is first used.

Few programs use these modules, so importing them eagerly would only cost time (benchmark "import
the NumPy interface"). A test compares the names with the names that the modules export.
"""

from __future__ import annotations

import importlib

__all__ = ["MODULES", "MODULE_OF", "load_all"]

#: Maps modules of `olympus_ir.lax` to the names that they export.
MODULES = {
    "sorting.approximate": "approx_max_k approx_min_k approx_top_k_p",
    "collectives.operations": (
        "all_gather all_gather_p all_to_all all_to_all_p axis_index axis_index_p pbroadcast "
        "pbroadcast_p pcast pmax pmax_p pmean pmin pmin_p ppermute ppermute_p pshuffle psum psum_p "
        "psum_scatter pswapaxes reduce_scatter_p"
    ),
    "calls.composites": "composite composite_p",
    "control_flow": (
        "associative_scan cond cond_p fori_loop map platform_dependent platform_index_p scan "
        "scan_p switch while_loop while_p"
    ),
    "control_flow.linear_solves": "linear_solve_p",
    "convolution.convolutions": (
        "conv conv_general_dilated conv_general_dilated_p conv_with_general_padding"
    ),
    "convolution.dimension_numbers": (
        "ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers conv_dimension_numbers "
        "conv_general_permutations conv_general_shape_tuple conv_shape_tuple "
        "conv_transpose_shape_tuple"
    ),
    "convolution.variants": (
        "conv_general_dilated_local conv_general_dilated_patches conv_transpose"
    ),
    "contractions.dot_algorithms": "DotAlgorithm DotAlgorithmPreset PrecisionLike",
    "sorting.order_statistics": "order_statistics order_statistics_p",
    "point_to_point": "precv psend",
    "ragged": "RaggedDotDimensionNumbers ragged_dot ragged_dot_general ragged_dot_general_p",
    "ragged_exchange": "ragged_all_to_all ragged_all_to_all_p",
    "random_bits": (
        "RandomAlgorithm rng_bit_generator rng_bit_generator_p rng_uniform rng_uniform_p"
    ),
    "contractions.scaled_products": "scaled_dot scaled_dot_p",
}

MODULE_OF = {name: module for module, names in MODULES.items() for name in names.split()}


def load_all() -> None:
    """Loads all modules in ``MODULES``, which declares their primitives."""
    for module in MODULES:
        importlib.import_module(f"..{module}", __package__)

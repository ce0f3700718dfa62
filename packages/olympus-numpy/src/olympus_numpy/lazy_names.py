# SPDX-License-Identifier: Apache-2.0
"""Table of the modules that are loaded when one of their names is first used.

A program uses few of these modules. Importing all of them would take a tenth of the time of
importing the package (benchmark "import the NumPy interface"). A test compares the names with the
names that the modules export.
"""

from __future__ import annotations

__all__ = ["MODULES", "MODULE_OF"]

MODULES = {
    "arrays.flipping": "flip fliplr flipud roll rot90",
    "arrays.host": (
        "ComplexWarning array_repr array_str frombuffer fromfile fromiter fromstring "
        "get_printoptions isscalar iterable load ndim printoptions save savez set_printoptions "
        "shape size trim_zeros"
    ),
    "elementwise.bit_packing": "packbits unpackbits",
    "elementwise.trigonometry": (
        "acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 "
        "atanh cos cosh deg2rad degrees rad2deg radians sin sinh tan tanh"
    ),
    "elementwise.vectorization": "apply_along_axis apply_over_axes vectorize",
    "indexing.insertion": "delete insert",
    "namespace_info": "__array_api_version__ __array_namespace_info__",
    "numerics.calculus": "diff ediff1d gradient interp trapezoid unwrap",
    "numerics.index_tricks": (
        "c_ diag_indices diag_indices_from index_exp ix_ mask_indices mgrid ogrid r_ "
        "ravel_multi_index s_ tril_indices tril_indices_from triu_indices triu_indices_from "
        "unravel_index"
    ),
    "numerics.padding": "pad",
    "numerics.polynomial_roots": "poly polyfit roots",
    "numerics.polynomials": "polyadd polyder polydiv polyint polymul polysub polyval",
    "numerics.ranges": "arange fromfunction geomspace indices linspace logspace meshgrid",
    "numerics.statistics": (
        "bincount corrcoef cov histogram histogram2d histogram_bin_edges histogramdd"
    ),
    "numerics.windows": "bartlett blackman hamming hanning i0 kaiser",
    "ordering.quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "ordering.sets": (
        "intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts "
        "unique_inverse unique_values"
    ),
    "products.convolutions": "convolve correlate",
    "products.einsum": "einsum einsum_path",
    "reductions.nan_reductions": (
        "nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar"
    ),
}

MODULE_OF = {name: module for module, names in MODULES.items() for name in names.split()}

# SPDX-License-Identifier: Apache-2.0
"""Reproducible, splittable random numbers: keys, counter-based generators, samplers."""

from __future__ import annotations

from olympus_ir.source_info import register_library_folder

from . import rules as _rules  # noqa: F401 - fills the tables of transformations
from .__about__ import __version__
from .continuous import (
    cauchy,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    normal,
    truncated_normal,
)
from .discrete import bernoulli, categorical, rademacher
from .implementations import KeyType, PRNGImpl, register_prng
from .keys import (
    PRNGKey,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from .shuffling import choice, permutation
from .transformed import (
    double_sided_maxwell,
    geometric,
    maxwell,
    pareto,
    rayleigh,
    triangular,
    wald,
    weibull_min,
)
from .uniform import bits, randint, uniform

__all__ = [
    "KeyType",
    "PRNGImpl",
    "PRNGKey",
    "__version__",
    "bernoulli",
    "bits",
    "categorical",
    "cauchy",
    "choice",
    "clone",
    "double_sided_maxwell",
    "exponential",
    "fold_in",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "logistic",
    "lognormal",
    "maxwell",
    "normal",
    "pareto",
    "permutation",
    "rademacher",
    "randint",
    "rayleigh",
    "register_prng",
    "split",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]

register_library_folder(__path__[0])

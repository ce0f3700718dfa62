# SPDX-License-Identifier: Apache-2.0
"""Reproducible, splittable random numbers: keys, counter-based generators, samplers."""

from __future__ import annotations

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
    "exponential",
    "fold_in",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "logistic",
    "lognormal",
    "normal",
    "permutation",
    "rademacher",
    "randint",
    "register_prng",
    "split",
    "truncated_normal",
    "uniform",
    "wrap_key_data",
]

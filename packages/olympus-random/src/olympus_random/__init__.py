# SPDX-License-Identifier: Apache-2.0
"""Reproducible, splittable random numbers: keys, counter-based generators, samplers."""

from __future__ import annotations

from olympus_ir.diagnostics.source_info import register_library_folder

from . import rbg as _rbg  # noqa: F401 - registers its generators
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
from .counts import binomial, multinomial, poisson
from .discrete import bernoulli, categorical, rademacher
from .gamma import gamma, loggamma, random_gamma_p
from .gamma_family import ball, beta, chisquare, dirichlet, f, generalized_normal, t
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
from .matrices import multivariate_normal, orthogonal
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
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "random_gamma_p",
    "rayleigh",
    "register_prng",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]

register_library_folder(__path__[0])

# SPDX-License-Identifier: Apache-2.0
"""Reproducible, splittable random numbers: keys, counter-based generators, samplers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olympus_ir.diagnostics.source_info import register_library_folder
from olympus_ir.loading import lazy_exports
from olympus_ir.programs.primitives import add_late_declarations

from .__about__ import __version__
from .generators.implementations import KeyType, PRNGImpl, register_prng
from .keys import rules as _rules  # noqa: F401 - fills the tables of transformations
from .keys.functions import (
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

if TYPE_CHECKING:
    from .samplers.continuous import (
        cauchy,
        exponential,
        gumbel,
        laplace,
        logistic,
        lognormal,
        normal,
        truncated_normal,
    )
    from .samplers.counts import binomial, multinomial, poisson
    from .samplers.discrete import bernoulli, categorical, rademacher
    from .samplers.gamma import gamma, loggamma, random_gamma_p
    from .samplers.gamma_family import ball, beta, chisquare, dirichlet, f, generalized_normal, t
    from .samplers.matrices import multivariate_normal, orthogonal
    from .samplers.shuffling import choice, permutation
    from .samplers.transformed import (
        double_sided_maxwell,
        geometric,
        maxwell,
        pareto,
        rayleigh,
        triangular,
        wald,
        weibull_min,
    )
    from .samplers.uniform import bits, randint, uniform

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

# Samplers are loaded when first used.
_MODULES = {
    "samplers.continuous": (
        "cauchy exponential gumbel laplace logistic lognormal normal truncated_normal"
    ),
    "samplers.counts": "binomial multinomial poisson",
    "samplers.discrete": "bernoulli categorical rademacher",
    "samplers.gamma": "gamma loggamma random_gamma_p",
    "samplers.gamma_family": "ball beta chisquare dirichlet f generalized_normal t",
    "samplers.matrices": "multivariate_normal orthogonal",
    "samplers.shuffling": "choice permutation",
    "samplers.transformed": (
        "double_sided_maxwell geometric maxwell pareto rayleigh triangular wald weibull_min"
    ),
    "samplers.uniform": "bits randint uniform",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__, {name: module for module, names in _MODULES.items() for name in names.split()}
    )
    # A program that another process has written may contain this primitive.
    add_late_declarations(lambda: __getattr__("random_gamma_p"))

register_library_folder(__path__[0])

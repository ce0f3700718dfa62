# SPDX-License-Identifier: Apache-2.0
"""Distributions, one module each, and statistics of samples."""

from __future__ import annotations

import importlib
from typing import Any

from .kde import gaussian_kde as gaussian_kde
from .statistics import mode as mode
from .statistics import rankdata as rankdata
from .statistics import sem as sem

DISTRIBUTIONS = (
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma",
    "gennorm", "geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial",
    "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t", "truncnorm", "uniform",
    "vonmises", "wrapcauchy",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    # A distribution is imported at its first use, since few programs need more than two.
    if name in DISTRIBUTIONS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *DISTRIBUTIONS})

# SPDX-License-Identifier: Apache-2.0
"""Taylor mode: truncated power series are pushed through a function, for higher derivatives."""

from . import rules
from .series import ZeroSeries, ZeroTerm, fact, zero_series, zero_term
from .tables import (
    call_param_updaters,
    def_comp,
    def_deriv,
    deflinear,
    defzero,
    deriv_prop,
    jet_rules,
    linear_prop,
    zero_prop,
)
from .trace import (
    JetTrace,
    JetTracer,
    jet,
    jet2,
    jet_fun,
    jet_subtrace,
    traceable,
)

__all__ = [
    "JetTrace",
    "JetTracer",
    "ZeroSeries",
    "ZeroTerm",
    "call_param_updaters",
    "def_comp",
    "def_deriv",
    "deflinear",
    "defzero",
    "deriv_prop",
    "fact",
    "jet",
    "jet2",
    "jet_fun",
    "jet_rules",
    "jet_subtrace",
    "linear_prop",
    "rules",
    "traceable",
    "zero_prop",
    "zero_series",
    "zero_term",
]

# SPDX-License-Identifier: Apache-2.0
"""Taylor mode: propagates truncated power series, for derivatives of higher order.

The modules, from the lowest to the highest, are `series` (arithmetic of series), `tables` (the rule
table), `trace`, `definitions`, `series_programs`, `rules` and `transformation`. The modules import
`forward`, and those in `rules` also import the first-order rules.
"""

from .definitions import def_comp, def_deriv, deflinear, defzero, deriv_prop
from .series import ZeroSeries, ZeroTerm, fact, zero_series, zero_term
from .tables import call_param_updaters, jet_rules, linear_prop, zero_prop
from .trace import JetTrace, JetTracer
from .transformation import jet, jet2, jet_fun, jet_subtrace, traceable

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
    "traceable",
    "zero_prop",
    "zero_series",
    "zero_term",
]

# SPDX-License-Identifier: Apache-2.0
"""Taylor mode: pushes truncated power series through a function, for higher derivatives."""

from .. import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    _lazy.names_from(
        "olympus_autodiff.jet",
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
    ),
)

# SPDX-License-Identifier: Apache-2.0
"""Reproducible random numbers from explicit keys."""

from olympus_random import *  # noqa: F403

from . import _lazy

_SOURCES = {
    **_lazy.names_from("olympus_random.estimators.expectations", "pathwise", "score_function"),
    **_lazy.names_from(
        "olympus_random.estimators.relaxations", "gumbel_softmax", "straight_through"
    ),
}

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, _SOURCES)

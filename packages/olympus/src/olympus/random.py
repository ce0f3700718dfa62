# SPDX-License-Identifier: Apache-2.0
"""Reproducible random numbers from explicit keys."""

import functools as _functools
import typing as _typing

import olympus_random as _random

from . import _lazy

if _typing.TYPE_CHECKING:
    from olympus_random import *  # noqa: F403

_SOURCES = {
    **_lazy.names_from("olympus_random.estimators.expectations", "pathwise", "score_function"),
    **_lazy.names_from(
        "olympus_random.estimators.relaxations", "gumbel_softmax", "straight_through"
    ),
}

# A name is looked up in olympus-random at its first use, and then cached in this module.
__getattr__, _names = _lazy.lazy_attributes(
    __name__, _SOURCES, fallback=_functools.partial(getattr, _random)
)


def __dir__() -> list[str]:
    return sorted({*_random.__all__, *_names()} - {"__version__"})

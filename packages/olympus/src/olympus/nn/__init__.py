# SPDX-License-Identifier: Apache-2.0
"""Layers of neural networks: activations, normalization, attention."""

import functools as _functools
import typing as _typing

import olympus_nn as _nn

from .. import _lazy

if _typing.TYPE_CHECKING:
    from olympus_nn import *  # noqa: F403

    from . import initializers as initializers

# A name is looked up in olympus-nn at its first use, and then cached in this module.
__getattr__, _names = _lazy.lazy_attributes(
    __name__, {}, ("initializers",), fallback=_functools.partial(getattr, _nn)
)


def __dir__() -> list[str]:
    return sorted({*_nn.__all__, *_names()})

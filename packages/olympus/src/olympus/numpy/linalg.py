# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of the NumPy interface."""

import functools as _functools
import typing as _typing

from olympus_numpy import linalg as _linalg

from .. import _lazy

if _typing.TYPE_CHECKING:
    from olympus_numpy.linalg import *  # noqa: F403

# A name is looked up in olympus-numpy at its first use, and then cached in this module.
__getattr__, _names = _lazy.lazy_attributes(
    __name__, {}, fallback=_functools.partial(getattr, _linalg)
)


def __dir__() -> list[str]:
    return sorted({*_linalg.__all__, *_names()})

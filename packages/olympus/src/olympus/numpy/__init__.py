# SPDX-License-Identifier: Apache-2.0
"""The NumPy interface: ``import olympus.numpy as jnp``."""

import functools as _functools
import typing as _typing

from olympus_ir.loading import timed_import as _timed_import

from .. import _lazy

with _timed_import:
    import olympus_numpy as _numpy
    from olympus_numpy.methods import array_methods as _array_methods

if _typing.TYPE_CHECKING:
    from olympus_numpy import *  # noqa: F403

# A name is looked up in olympus-numpy at its first use, and then cached in this module.
__getattr__, _names = _lazy.lazy_attributes(
    __name__,
    _lazy.names_from("olympus_numpy", "__array_api_version__", "__array_namespace_info__"),
    ("fft", "linalg"),
    fallback=_functools.partial(getattr, _numpy),
)
_array_methods.serve_as_namespace(__name__)


def __dir__() -> list[str]:
    return sorted({*_numpy.__all__, *_names()})  # pyright: ignore[reportAttributeAccessIssue]

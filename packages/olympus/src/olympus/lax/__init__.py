# SPDX-License-Identifier: Apache-2.0
"""The instruction set: the operations that the NumPy interface is built from."""

import functools as _functools
import typing as _typing

import olympus_ir.lax as _lax

from .. import _lazy

if _typing.TYPE_CHECKING:
    from olympus_ir.lax import *  # noqa: F403

__getattr__, _names = _lazy.lazy_attributes(
    __name__,
    {
        **_lazy.names_from("olympus_autodiff.custom.solves", "custom_linear_solve", "custom_root"),
        **_lazy.names_from(
            "olympus_sharding.annotations.constraints",
            "sharding_constraint_p",
            "with_sharding_constraint",
        ),
    },
    ("linalg",),
    fallback=_functools.partial(getattr, _lax),
)


def __dir__() -> list[str]:
    return sorted({*_lax.__all__, *_names()})  # pyright: ignore[reportAttributeAccessIssue]

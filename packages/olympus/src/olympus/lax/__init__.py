# SPDX-License-Identifier: Apache-2.0
"""The instruction set: operations that NumPy's interface is composed of."""

from typing import Any

import olympus_ir.lax as _lax
from olympus_ir.lax import *  # noqa: F403

from .. import _lazy

_SUBMODULES = ("linalg",)

_lazy_name, _lazy_names = _lazy.lazy_attributes(
    __name__,
    {
        **_lazy.names_from("olympus_autodiff.solves", "custom_linear_solve", "custom_root"),
        **_lazy.names_from(
            "olympus_sharding.constraints", "sharding_constraint_p", "with_sharding_constraint"
        ),
    },
    _SUBMODULES,
)


def __getattr__(name: str) -> Any:
    if name not in _SUBMODULES:
        try:
            return getattr(_lax, name)
        except AttributeError:
            pass
    return _lazy_name(name)


def __dir__() -> list[str]:
    return sorted({*dir(_lax), *_lazy_names()})

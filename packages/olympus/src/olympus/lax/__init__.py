# SPDX-License-Identifier: Apache-2.0
"""The instruction set: the operations that the NumPy interface is built from."""

import typing as _typing

import olympus_ir.lax as _lax

from .. import _lazy

if _typing.TYPE_CHECKING:
    from olympus_ir.lax import *  # noqa: F403
else:  # only the names loaded so far: `import *` would load all
    globals().update(_lazy.loaded_names(_lax))

_SUBMODULES = ("linalg",)

_lazy_name, _lazy_names = _lazy.lazy_attributes(
    __name__,
    {
        **_lazy.names_from("olympus_autodiff.custom.solves", "custom_linear_solve", "custom_root"),
        **_lazy.names_from(
            "olympus_sharding.annotations.constraints",
            "sharding_constraint_p",
            "with_sharding_constraint",
        ),
    },
    _SUBMODULES,
)


def __getattr__(name: str) -> _typing.Any:
    if name not in _SUBMODULES and name != "__all__":
        try:
            return getattr(_lax, name)
        except AttributeError:
            pass
    return _lazy_name(name)


def __dir__() -> list[str]:
    return sorted({*_lax.__all__, *_lazy_names()})

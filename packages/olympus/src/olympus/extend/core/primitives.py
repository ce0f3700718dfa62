# SPDX-License-Identifier: Apache-2.0
"""All primitives, by the names ``<primitive>_p``."""

from __future__ import annotations

import importlib
from typing import Any

import olympus_ir.lax as _lax
from olympus_ir.programs.primitives import primitives as _instruction_set

from ... import _lazy

# Public names that differ from the primitive's own name.
_SOURCES = {
    **_lazy.names_from("olympus_ir.lax", "add_olympusvals_p=add_any_p"),
    **_lazy.names_from("olympus_ir.adapters.construction", "call_p"),
    **_lazy.names_from("olympus_ir.expansions.uninitialized", "empty2_p"),
    **_lazy.names_from(
        "olympus_ir.lax.calls.primitives", "closed_call_p", "jit_p", "remat_p=checkpoint_p"
    ),
    **_lazy.names_from("olympus_autodiff.forward.custom_linear", "custom_lin_p"),
    **_lazy.names_from("olympus_autodiff.rematerialization.policies", "name_p"),
    **_lazy.names_from("olympus_sharding.annotations.constraints", "sharding_constraint_p"),
    **_lazy.names_from("olympus_ir.references.primitives", "addupdate_p", "get_p", "swap_p"),
}


# Modules of primitives that `olympus_ir.lax` does not import. They are imported on first use.
_LATER = ("olympus_ir.lax.linalg", "olympus_random.keys.primitives", "olympus_random")


def _by_name(name: str) -> Any:
    """Returns the primitive with a given name, such as ``"sin_p"`` for the primitive ``sin``."""
    if hasattr(_lax, name):
        return getattr(_lax, name)
    for module in _LATER:
        importlib.import_module(module)
    printed = name.removesuffix("_p")
    for primitive in _instruction_set():
        if primitive.name.replace("-", "_") == printed:
            return primitive
    raise AttributeError(name)


__getattr__, _names = _lazy.lazy_attributes(__name__, _SOURCES, fallback=_by_name)


def __dir__() -> list[str]:
    found = {name for name in dir(_lax) if name.endswith("_p")}
    found |= {f"{primitive.name.replace('-', '_')}_p" for primitive in _instruction_set()}
    return sorted({*_names(), *found})

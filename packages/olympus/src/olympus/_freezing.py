# SPDX-License-Identifier: Apache-2.0
"""`olympus.freeze`: makes a program from a function and its weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from olympus_export.frozen import freezing
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.references import primitives
from olympus_ir.types.annotations import PyTree
from olympus_ir.types.arrays import Array

if TYPE_CHECKING:
    from olympus_export import Frozen
    from olympus_ir.references.values import Ref

__all__ = ["freeze"]


@overload
def freeze(target: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Frozen: ...
@overload
def freeze(target: Ref, /) -> Array: ...
@api_boundary
def freeze(target: Any, /, *args: PyTree, **kwargs: PyTree) -> Any:
    """Turns a function into a program that runs without Python code of the user.

    For a reference, it returns the array that the reference holds, as JAX's ``freeze`` does. The
    reference must not be used afterwards.

    Args:
      target: a function, plain or returned by `jit`; or a reference.
      *args: the function's arguments, and the options of `olympus.export.freeze`.
      **kwargs: keyword arguments and options, as in ``*args``.

    Returns:
      A `Frozen`, whose method ``save`` writes a file; for a reference, an array.

    Raises:
      NotImplementedError: the function calls back into Python, or takes references.
      TypeError: arguments are given with a reference.
      ValueError: ``weights`` names an argument that does not exist or has no values.

    Example:
      >>> import olympus.numpy as jnp
      >>> double = freeze(lambda x: 2 * x, jnp.arange(3.0))
      >>> double(jnp.ones(3))
      Array([2., 2., 2.], dtype=float32)
    """
    if callable(target):
        return freezing.freeze(target, *args, **kwargs)
    if args or kwargs:
        raise TypeError(
            "freeze accepts arguments only for a function, got arguments for "
            f"{type(target).__name__}"
        )
    return primitives.freeze(target)

# SPDX-License-Identifier: Apache-2.0
"""Derivative rules of this package's functions, without importing olympus-autodiff early.

Importing olympus-autodiff takes a twelfth of the time to import the NumPy interface. The decorator
therefore creates the `olympus_autodiff.custom_jvp` only when the function is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from olympus_ir.loading import deferred

if TYPE_CHECKING:
    import olympus_autodiff
else:
    olympus_autodiff = deferred("olympus_autodiff", milliseconds=40.0)

__all__ = ["custom_jvp"]


class custom_jvp:
    """Placeholder for `olympus_autodiff.custom_jvp` until the function is called.

    Example:
      >>> import olympus_numpy as jnp
      >>> @custom_jvp
      ... def cube(x):
      ...     return x * x * x
      >>> @cube.defjvp
      ... def cube_jvp(primals, tangents):
      ...     (x,), (t,) = primals, tangents
      ...     return cube(x), 3.0 * x * x * t
      >>> cube(jnp.asarray(2.0))
      Array(8., dtype=float32, weak_type=True)
    """

    __slots__ = ("_function", "_jvp", "_with_rule")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._jvp: Callable[..., Any] | None = None
        self._with_rule: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the derivative rule; see `olympus_autodiff.custom_jvp`."""
        self._jvp = jvp
        return jvp

    def __call__(self, *args: Any) -> Any:
        if self._with_rule is None:
            function = olympus_autodiff.custom_jvp(self._function)
            if self._jvp is not None:
                function.defjvp(self._jvp)
            self._with_rule = function
        return self._with_rule(*args)

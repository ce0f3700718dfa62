# SPDX-License-Identifier: Apache-2.0
"""Flags that tell whether high types or mutable types are registered.

Hot paths read these flags without importing `high_types` or `mutable_types`. The module also
defines the type of a mutable value with its state, and the error for closed-over mutable objects.
"""

from __future__ import annotations

from typing import Any, NamedTuple

high = False  # True once a high type, whose values consist of several arrays, is registered
mutable = False  # True once a type of mutable objects is registered
summed_by_rule = False  # True once an extended dtype defines sums and zeros of its tangents


def use_high_types() -> None:
    """Records that a high type, whose values consist of several arrays, has been registered."""
    global high
    high = True


def is_high(aval: Any) -> bool:
    """Returns whether a type is high, so that its values consist of several arrays."""
    return high and getattr(aval, "is_high", False) is True


def use_sums_by_rule() -> None:
    """Records that an extended dtype defines sums and zeros of its tangents."""
    global summed_by_rule
    summed_by_rule = True


def use_mutable_types() -> None:
    """Records that a type of mutable objects has been registered."""
    global mutable
    mutable = True


class AvalMutableQDD(NamedTuple):
    """The type of a mutable value with its current state."""

    aval: Any
    mutable_qdd: Any


class ClosedOverMutableError(TypeError):
    """Error for a traced function that closes over a mutable object.

    Compiled functions, loops and conditionals catch this error and take the object's state as an
    operand. Other transformations do not support closed-over mutable objects.

    Args:
      value: the object.
      trace: the trace of the function.
    """

    def __init__(self, value: Any, trace: Any):
        self.value, self.trace = value, trace
        info = trace.debug_info
        super().__init__(
            f"the function {info.func_src_info} traced for {info.traced_for} closes over a mutable "
            f"object of type {type(value).__name__}. Pass it as an argument, or read it outside of "
            "the function."
        )

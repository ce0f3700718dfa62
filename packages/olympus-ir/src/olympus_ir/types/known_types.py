# SPDX-License-Identifier: Apache-2.0
"""Kinds of types besides those of arrays, and an error about one of them.

Apart from `high_types` and `mutable_types`, for those that ask on every call.
"""

from __future__ import annotations

from typing import Any

high = False  # whether there are types of values that are made of arrays
mutable = False  # whether there are types of objects that change


def use_high_types() -> None:
    """Called when a type of values that are made of arrays is made known."""
    global high
    high = True


def is_high(aval: Any) -> bool:
    """Returns whether values of a type are made of several arrays."""
    return high and getattr(aval, "is_high", False) is True


def use_mutable_types() -> None:
    """Called when a type of objects that change is made known."""
    global mutable
    mutable = True


class ClosedOverMutableError(TypeError):
    """A traced function uses an object that changes, and that is not one of its arguments.

    Compiled functions, loops and choices take such objects as operands when this is raised; other
    transformations do not know of them.

    Args:
      value: the object.
      trace: the trace of the function.
    """

    def __init__(self, value: Any, trace: Any):
        self.value, self.trace = value, trace
        info = trace.debug_info
        super().__init__(
            f"the function {info.func_src_info} traced for {info.traced_for} closes over a value "
            f"that changes, of type {type(value).__name__}. Pass it as an argument, or read it "
            "outside of the function."
        )

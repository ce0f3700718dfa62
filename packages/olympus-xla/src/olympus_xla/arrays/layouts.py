# SPDX-License-Identifier: Apache-2.0
"""Memory layouts: the order of the elements of an array in memory."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, ClassVar

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax.annotations.primitives import layout_constraint_p
from olympus_ir.programs.olympuspr import olympusprs_in_params
from olympus_ir.trees import pytrees
from olympus_ir.trees.pytree_prefix import broadcast_prefix
from olympus_ir.types.avals import get_aval
from olympus_ir.types.records import Record

from .._jaxlib import ArrayImpl, HloLayout, Sharding
from .array import check_not_deleted

__all__ = ["Format", "Layout", "with_layout_constraint"]


class _Auto:
    """The type of `Layout.AUTO`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "AUTO"

    def __reduce__(self) -> str:
        return "_AUTO"


_AUTO = _Auto()


class Layout(Record):
    """The order of an array's dimensions in memory.

    Args:
      major_to_minor: the dimensions, in order of decreasing stride.
      tiling: the tiles into which elements are grouped; platform-specific.
      sub_byte_element_size_in_bits: the size of packed elements; 0 for elements of whole bytes.

    Example:
      >>> Layout((1, 0))
      Layout(major_to_minor=(1, 0), tiling=None, sub_byte_element_size_in_bits=0)
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None
    sub_byte_element_size_in_bits: int

    # Stands for a layout that the compiler chooses.
    AUTO: ClassVar[_Auto] = _AUTO

    @api_boundary
    def __init__(
        self,
        major_to_minor: Iterable[int],
        tiling: tuple[tuple[int, ...], ...] | None = None,
        sub_byte_element_size_in_bits: int = 0,
    ) -> None:
        super().__init__(
            major_to_minor=tuple(major_to_minor),
            tiling=tiling,
            sub_byte_element_size_in_bits=sub_byte_element_size_in_bits,
        )

    @staticmethod
    def from_pjrt_layout(pjrt_layout: Any) -> Layout:
        """Returns the layout that an executable or an array reports."""
        layout = pjrt_layout._xla_layout()
        return Layout(
            tuple(layout.minor_to_major()[::-1]),
            tuple(tuple(tile) for tile in layout.tiling()),
            layout.element_size_in_bits(),
        )

    def update(self, **changes: Any) -> Layout:
        """Returns a copy of the layout with some properties changed."""
        return self.replace(**changes)

    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        """Raises ValueError if an array of this shape cannot have the layout."""
        if len(self.major_to_minor) != len(aval_shape):
            raise ValueError(
                "Length of major_to_minor and the rank of the value should match. Got "
                f"major_to_minor={self.major_to_minor} and shape={tuple(aval_shape)}"
            )

    def _on(self, sharding: Any) -> Format:
        return Format(self, sharding)

    def _to_xla_layout(self, dtype: Any) -> str:
        """Returns the layout in XLA's form, for C++."""
        return HloLayout(
            self.major_to_minor[::-1], self.tiling or (), self.sub_byte_element_size_in_bits
        ).to_string()


class Format:
    """Layout and sharding of an array.

    Args:
      layout: a `Layout`, `Layout.AUTO`, or None for the default layout.
      sharding: a sharding, or None if it does not matter.

    Raises:
      TypeError: an argument has an unsupported type.
      ValueError: a layout is given without a sharding.

    Example:
      >>> Format(Layout.AUTO)
      Format(layout=AUTO, sharding=None)
    """

    __slots__ = ("layout", "sharding")

    # Packages that may not import this module recognize a format by this attribute.
    is_format = True

    @api_boundary
    def __init__(
        self, layout: Layout | _Auto | None = None, sharding: Sharding | None = None
    ) -> None:
        if layout is not None and layout is not Layout.AUTO and not isinstance(layout, Layout):
            raise TypeError(
                "Invalid value received for the layout argument. Expected values are `None`, "
                f"`Layout.AUTO` or an instance of `Layout`. Got {layout} of type {type(layout)}"
            )
        if sharding is not None and not isinstance(sharding, Sharding):
            raise TypeError(
                "Invalid value received for the sharding argument. Expected values are `None` or "
                f"an instance of `olympus.Sharding`. Got {sharding} of type {type(sharding)}"
            )
        if isinstance(layout, Layout) and sharding is None:
            raise ValueError(
                f"Sharding has to be concrete when layout is of type {Layout}. Pass a "
                "`NamedSharding` or a `SingleDeviceSharding` as the sharding argument."
            )
        self.layout = layout
        self.sharding = sharding

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and (self.layout, self.sharding) == (
            other.layout,
            other.sharding,
        )

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"


class _InUse:
    """Flag that is set if this process may have arrays with non-default layouts."""

    in_use = False


layouts_in_use = _InUse()


def constrains_layouts(closed: Any) -> bool:
    """Returns whether a program constrains layouts; if so, the compiler chooses result layouts."""
    return _any_constraint(closed.jaxpr, set())


def _any_constraint(olympuspr: Any, seen: set[int]) -> bool:
    for equation in filter(_params_of, olympuspr.eqns):  # constraints and calls have parameters
        name = equation.primitive.name
        if name == "layout_constraint":
            return True
        if name == "sharding_constraint" and equation.params.get("layout") is not None:
            return True
        if name == "jit" and any(
            isinstance(layout, Layout) for layout in _layouts(equation.params)
        ):
            return True
        for inner in olympusprs_in_params(equation.params):
            if id(inner) not in seen:
                seen.add(id(inner))
                if _any_constraint(inner, seen):
                    return True
    return False


_params_of = operator.attrgetter("params")


def _layouts(params: dict[str, Any]) -> tuple:
    """Returns the layouts of the operands and results of a `jit` equation."""
    return (*params["in_layouts"], *params["out_layouts"])


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """Constrains the memory layouts of values.

    Results of a compiled function keep the layouts to which they were constrained.

    Args:
      x: an array or a pytree of arrays.
      layouts: a `Layout`, or a pytree of layouts that is a prefix of ``x``.

    Returns:
      ``x``, with the layouts of its arrays constrained.

    Raises:
      ValueError: a value of ``layouts`` is not a layout, or has another rank than its array.

    Example:
      >>> import numpy as np
      >>> with_layout_constraint(np.ones((2, 3), np.float32), Layout((1, 0))).shape
      (2, 3)
    """
    leaves, tree = pytrees.tree_flatten(x)
    flat = broadcast_prefix(layouts, x)
    strangers = [type(layout) for layout in flat if not isinstance(layout, Layout)]
    if strangers:
        raise ValueError(
            f"layouts passed to `with_layout_constraint` must be of type `Layout`. Got {strangers}"
        )
    results = []
    for leaf, layout in zip(leaves, flat, strict=True):
        shape = get_aval(leaf).shape
        if len(layout.major_to_minor) != len(shape):
            raise ValueError(
                "One of with_layout_constraint arguments is incompatible with its layout "
                f"annotation {layout}: Length of major_to_minor and the rank of the value should "
                f"match. Got major_to_minor={layout.major_to_minor} and shape={shape}"
            )
        results.append(layout_constraint_p.bind(leaf, layout=layout))
    return pytrees.tree_unflatten(tree, results)


def layout_of(array: ArrayImpl) -> Layout:
    """Returns the memory layout of an array."""
    return Layout.from_pjrt_layout(pjrt_layout_of(array))


def pjrt_layout_of(array: ArrayImpl) -> Any:
    """Returns PJRT's record of the memory layout of an array.

    Raises:
      RuntimeError: the array has been deleted; jaxlib would end the process instead.
    """
    check_not_deleted(array)
    return array._pjrt_layout


def same_layout(first: Layout, second: Layout) -> bool:
    """Returns whether two layouts are equal. A tiling of None equals an empty tiling."""
    return first.major_to_minor == second.major_to_minor and (first.tiling or ()) == (
        second.tiling or ()
    )

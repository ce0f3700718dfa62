# SPDX-License-Identifier: Apache-2.0
"""Type promotion: the common dtype of operands of different dtypes.

Dtypes form a lattice. An edge points from a dtype to a dtype that its values can be promoted to.
Operands are promoted to their least upper bound. Python scalars, and arrays made of them, have
*weak* types. A weak type enters the lattice as the node of its kind (integer, floating, complex),
which is below all dtypes of that kind. Promotion therefore prefers the dtype of an array of the
same or a higher kind.

    bool -> i* -> u8 -> u16 -> u32 -> u64 -> f* -> bf16 -> f32 -> f64 -> c128
                    \\      \\      \\           |\\              |
                  i8 -> i16 -> i32 -> i64 ---^  -> f16 -> f32 -> c64 -> c128

(c* lies between f* and c64.) Integers of less than 8 bits and floats of at most 8 bits are not
promoted to other dtypes. With ``olympus_numpy_dtype_promotion="strict"`` only weak types are
promoted.

Results for pairs of operands are kept in tables, so `promote` is one look-up on hot paths.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, Literal, overload

import numpy as np

from ..diagnostics.errors import TypePromotionError
from ..settings.config_flags import ExplicitX64Mode, explicit_x64_dtypes
from ..settings.config_states import NumpyDtypePromotion, enable_x64, numpy_dtype_promotion
from ..settings.naming import naming
from . import dtypes
from .dtypes import DType, DTypeLike, canonicalize_dtype
from .shape_struct import ShapeDtypeStruct

__all__ = [
    "TypePromotionError",
    "dtype_and_weak_type",
    "is_weakly_typed",
    "lattice_result_type",
    "promote",
    "promote_types",
    "result_type",
]

# --- The lattice ---------------------------------------------------------------------------------

# A dtype, or the Python type that stands for all weak types of its kind.
Node = Any
WEAK_NODES: tuple[Node, ...] = (int, float, complex)


def _standard_edges() -> dict[Node, tuple[Node, ...]]:
    chains = (
        ("bool", int),
        (int, "uint8", "uint16", "uint32", "uint64", float),
        (int, "int8", "int16", "int32", "int64", float),
        ("uint8", "int16"),
        ("uint16", "int32"),
        ("uint32", "int64"),
        (float, "bfloat16", "float32", "float64", "complex128"),
        (float, "float16", "float32", "complex64", "complex128"),
        (float, complex, "complex64"),
    )
    edges: dict[Node, list[Node]] = {d: [] for d in (*dtypes.numeric_dtypes, *WEAK_NODES)}
    for chain in chains:
        nodes = [np.dtype(name) if isinstance(name, str) else name for name in chain]
        for lower, upper in itertools.pairwise(nodes):
            edges[lower].append(upper)
    edges[int] += [*dtypes.small_signed, *dtypes.small_unsigned]
    edges[float] += dtypes.small_floats
    return {node: tuple(uppers) for node, uppers in edges.items()}


def _strict_edges() -> dict[Node, tuple[Node, ...]]:
    edges: dict[Node, tuple[Node, ...]] = dict.fromkeys(dtypes.numeric_dtypes, ())
    edges[int] = (float, *dtypes.signed_integers, *dtypes.unsigned_integers)
    edges[float] = (complex, *dtypes.floats)
    edges[complex] = dtypes.complexes
    return edges


class _Lattice:
    """A finite lattice without a top, which stores the upper bounds of each node as a bit set."""

    def __init__(self, edges: dict[Node, tuple[Node, ...]]):
        self._position = {node: position for position, node in enumerate(edges)}
        self._nodes = list(edges)
        self._upper_bounds: dict[Node, int] = {}
        for node in edges:
            self._close(node, edges)

    def _close(self, node: Node, edges: dict[Node, tuple[Node, ...]]) -> int:
        if node not in self._upper_bounds:
            bounds = 1 << self._position[node]
            for upper in edges[node]:
                bounds |= self._close(upper, edges)
            self._upper_bounds[node] = bounds
        return self._upper_bounds[node]

    def __contains__(self, node: object) -> bool:
        return node in self._position

    def least_upper_bound(self, nodes: Iterable[Node]) -> Node | None:
        common = -1
        for node in nodes:
            common &= self._upper_bounds[node]
        # The least candidate is below all others.
        candidates = common
        while candidates:
            lowest = candidates & -candidates
            node = self._nodes[lowest.bit_length() - 1]
            if self._upper_bounds[node] == common:
                return node
            candidates ^= lowest
        return None


# The lattices, built at the first promotion that is not in the tables.
_lattices: dict[bool, _Lattice] = {}


def _lattice(strict: bool) -> _Lattice:
    if strict not in _lattices:
        _lattices[strict] = _Lattice(_strict_edges() if strict else _standard_edges())
    return _lattices[strict]


_NODE_OF_KIND = (
    (np.integer, int),
    (np.floating, float),
    (np.complexfloating, complex),
)


def _weak_node(dtype: DType) -> Node:
    """Returns the node of weak values of a dtype; booleans have no weak type."""
    for kind, node in _NODE_OF_KIND:
        if dtypes.issubdtype(dtype, kind):
            return node
    return dtype


def _is_weak_node(node: Node) -> bool:
    # `node in WEAK_NODES` would be wrong, because np.dtype("int64") == int is true in NumPy.
    return isinstance(node, type)


def _of_equal_operands(operands: tuple[tuple[DType, bool], ...]) -> tuple[DType, bool] | None:
    """Returns the promoted type of operands of one dtype, which keep it; None for other operands.

    Operands that are all weakly typed get the default width of their kind, so they are others.
    """
    if len(operands) == 1:
        return operands[0]
    dtype, _ = operands[0]
    if any(other != dtype for other, _ in operands) or all(weak for _, weak in operands):
        return None
    return dtype, False


def _least_upper_bound(operands: tuple[tuple[DType, bool], ...], strict: bool) -> tuple[Any, bool]:
    """Promotes operands, given as pairs of dtype and weakness, under the current configuration."""
    if not enable_x64.value and explicit_x64_dtypes.value is not ExplicitX64Mode.ALLOW:
        # 64-bit arrays made while 64-bit types were enabled keep their dtype among themselves. With
        # others they count with their current canonical dtype.
        equal = _of_equal_operands(operands)
        if equal is not None:
            return equal
        operands = tuple((_canonical(dtype), weak) for dtype, weak in operands)
    lattice = _lattice(strict)
    for dtype, _ in operands:
        if dtype not in lattice:
            if all(other == dtype for other, _ in operands):
                return dtype, False
            raise ValueError(
                f"dtype={dtypes.name_of(dtype)} is not a valid dtype for {naming.library} type "
                "promotion. Its elements cannot be combined with other dtypes, got "
                f"{_listing(operands)}."
            )
    if strict or not all(weak and dtype != dtypes.bool_dtype for dtype, weak in operands):
        nodes = {_weak_node(dtype) if weak else dtype for dtype, weak in operands}
        node = next(iter(nodes)) if len(nodes) == 1 else lattice.least_upper_bound(nodes)
        if node is None:
            raise _refusal(operands, strict)
        weak = _is_weak_node(node)
        result = canonicalize_dtype(node) if weak else node
    else:
        # If all operands are weak, the kind is kept (signed or unsigned for integers), with the
        # default width.
        node = lattice.least_upper_bound({dtype for dtype, _ in operands})
        if node is None:
            raise _refusal(operands, strict)
        weak = True
        if _is_weak_node(node):
            result = canonicalize_dtype(node)
        elif dtypes.issubdtype(node, np.unsignedinteger):
            result = dtypes.default_uint_dtype()
        else:
            result = canonicalize_dtype(_weak_node(node))
    if not _has_wide_operand(operands):
        result = canonicalize_dtype(result)
    return result, weak


def _canonical(dtype: DType) -> DType:
    return canonicalize_dtype(dtype) if dtype in dtypes.half_width else dtype


def _has_wide_operand(operands: tuple[tuple[DType, bool], ...]) -> bool:
    return any(dtype in dtypes.half_width for dtype, _ in operands)


def _listing(operands: Iterable[tuple[DType, bool]]) -> str:
    shown = (
        f"{_weak_node(dtype).__name__} (a Python scalar's type)"
        if weak and _is_weak_node(_weak_node(dtype))
        else dtypes.name_of(dtype)
        for dtype, weak in operands
    )
    return " and ".join(dict.fromkeys(shown))


def _refusal(operands: tuple[tuple[DType, bool], ...], strict: bool) -> TypePromotionError:
    problem = f"Input dtypes {_listing(operands)} have no available implicit dtype promotion path"
    target = dtypes.name_of(operands[0][0])
    small = [
        dtype
        for dtype, weak in operands
        if not weak
        and dtype in (*dtypes.small_floats, *dtypes.small_signed, *dtypes.small_unsigned)
    ]
    if strict and not small:
        return TypePromotionError(
            f"{problem} when {naming.module}_numpy_dtype_promotion=strict. Cast the operands to "
            f"the dtype you want, for example x.astype({target!r}), or set the option to "
            "'standard'."
        )
    floats = [dtype for dtype in small if dtype in dtypes.small_floats]
    if floats:
        names = f"{min(map(dtypes.itemsize_bits, floats))}-bit floats"
        cast = "float32"
    else:
        names, cast = "1-bit, 2-bit and 4-bit integers", "int32"
    return TypePromotionError(
        f"{problem}. To avoid unintended promotion, {names} do not support implicit promotion. "
        f"Cast them to the dtype you want, for example x.astype({cast!r})."
    )


# --- Promotion of operands -----------------------------------------------------------------------

# Tables from (dtype, weak, dtype, weak) to (dtype, weak), for disabled and enabled 64-bit types.
_Pairs = dict[tuple[Any, bool, Any, bool], tuple[Any, bool]]
_standard_pairs: tuple[_Pairs, _Pairs] = ({}, {})
_strict_pairs: tuple[_Pairs, _Pairs] = ({}, {})
_STRICT = NumpyDtypePromotion.STRICT


def promote(x_dtype: DType, x_weak: bool, y_dtype: DType, y_weak: bool) -> tuple[Any, bool]:
    """Returns the dtype and weakness of the result of combining two operands.

    Args:
        x_dtype: the canonical dtype of the first operand.
        x_weak: whether the first operand is weakly typed.
        y_dtype: the canonical dtype of the second operand.
        y_weak: whether the second operand is weakly typed.

    Raises:
        TypePromotionError: there is no common dtype.

    Example:
        >>> promote(np.dtype("int8"), False, np.dtype("float32"), True)
        (dtype('float32'), True)
    """
    tables = _strict_pairs if numpy_dtype_promotion.value is _STRICT else _standard_pairs
    table = tables[enable_x64.value]
    key = (x_dtype, x_weak, y_dtype, y_weak)
    try:
        return table[key]
    except KeyError:
        operands = ((x_dtype, x_weak), (y_dtype, y_weak))
        result = _least_upper_bound(operands, tables is _strict_pairs)
        # While 64-bit types are disabled, the result for 64-bit operands also depends on the flag
        # `explicit_x64_dtypes`, so it is not kept.
        if enable_x64.value or not _has_wide_operand(operands):
            table[key] = result
        return result


def dtype_and_weak_type(x: Any) -> tuple[Any, bool]:
    """Returns the dtype of ``x`` in promotion, and whether ``x`` is weakly typed.

    Args:
        x: an array, a scalar, a dtype, or the name of a dtype.
    """
    kind = type(x)
    if kind in _PYTHON_TYPES:
        return canonicalize_dtype(kind), kind is not bool
    if kind is type and x in _PYTHON_TYPES:
        return canonicalize_dtype(x), x is not bool
    weak_type = getattr(x, "weak_type", None)
    if isinstance(weak_type, bool):
        if kind is ShapeDtypeStruct:  # the type of an argument, which is narrowed
            return canonicalize_dtype(x.dtype, allow_extended_dtype=True), weak_type
        return x.dtype, weak_type
    if kind is np.ndarray:
        dtype = canonicalize_dtype(x.dtype)
        if dtype in dtypes.representative:
            return dtype, False
    if isinstance(x, type) and isinstance(getattr(x, "dtype", None), np.dtype):
        # a scalar type of the NumPy API does not count as a request for 64 bits
        return canonicalize_dtype(x.dtype), False
    return dtypes.dtype(x, canonicalize=True), is_weakly_typed(x)


_PYTHON_TYPES = frozenset(dtypes.python_scalar_types)


def is_weakly_typed(x: Any) -> bool:
    """Returns whether ``x`` is weakly typed, like a Python scalar.

    Example:
        >>> is_weakly_typed(1.0), is_weakly_typed(np.float32(1))
        (True, False)
    """
    kind = type(x)
    if kind in _PYTHON_TYPES:
        return kind is not bool
    weak_type = getattr(x, "weak_type", None)
    if isinstance(weak_type, bool):
        return weak_type
    return isinstance(x, int | float | complex) and not isinstance(x, bool | np.generic)


def lattice_result_type(*args: Any) -> tuple[Any, bool]:
    """Returns the dtype and weakness of the result of combining operands.

    Args:
        *args: arrays, scalars, dtypes.

    Example:
        >>> lattice_result_type(np.int8(1), 2.0)
        (dtype('float32'), True)
    """
    if len(args) == 2:
        x_dtype, x_weak = dtype_and_weak_type(args[0])
        y_dtype, y_weak = dtype_and_weak_type(args[1])
        return promote(x_dtype, x_weak, y_dtype, y_weak)
    strict = numpy_dtype_promotion.value is _STRICT
    return _least_upper_bound(tuple(map(dtype_and_weak_type, args)), strict)


@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = False) -> np.dtype[Any]: ...
@overload
def result_type(*args: Any, return_weak_type_flag: bool) -> Any: ...
def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """Returns the dtype in which an operation on the arguments computes.

    Args:
        *args: arrays, scalars, dtypes and names of dtypes; None stands for the default floating
            dtype.
        return_weak_type_flag: whether to return a pair of the dtype and the weakness of the
            result's type.

    Raises:
        TypePromotionError: there is no common dtype.
        ValueError: there are no arguments.

    Example:
        >>> result_type(np.float32, 1), result_type(np.int8, np.uint8), result_type(1, 2.0)
        (dtype('float32'), dtype('int16'), dtype('float32'))
    """
    if not args:
        raise ValueError("at least one array or dtype is required by result_type.")
    dtype, weak = lattice_result_type(
        *(dtypes.default_float_dtype() if arg is None else arg for arg in args)
    )
    return (dtype, weak) if return_weak_type_flag else dtype


def promote_types(a: DTypeLike, b: DTypeLike) -> np.dtype[Any]:
    """Returns the dtype to which values of two dtypes are promoted.

    64-bit dtypes are not narrowed, even if they are disabled.

    Args:
        a: a dtype, a scalar type, the name of a dtype, or an array with the dtype. Python's types
            stand for weak types.
        b: the second dtype, in the same forms.

    Raises:
        TypePromotionError: there is no common dtype.

    Example:
        >>> promote_types(np.int64, np.float32)
        dtype('float32')
    """
    nodes = [
        x if any(x is weak for weak in _WEAK_TYPES) else _representative(np.dtype(x))
        for x in (a, b)
    ]
    strict = numpy_dtype_promotion.value is _STRICT
    lattice = _lattice(strict)
    for node in nodes:
        if node not in lattice:
            raise ValueError(f"The dtype {node} takes no part in promotion.")
    node = lattice.least_upper_bound(nodes)
    operands = tuple((np.dtype(node), _is_weak_node(node)) for node in nodes)
    if node is None:
        raise _refusal(operands, strict)
    result = np.dtype(node)
    return result if _has_wide_operand(operands) else canonicalize_dtype(result)


_WEAK_TYPES = frozenset(WEAK_NODES)


def _representative(dtype: np.dtype) -> np.dtype:
    return dtypes.representative.get(dtype, dtype)

# SPDX-License-Identifier: Apache-2.0
"""Declaration of samples: representative operands and parameters for each primitive.

A sample is declared once. The tests of every package are generated from it. A declaration lists
`Operation`s, each of which yields one `Case` for each dtype.
"""

from __future__ import annotations

import contextlib
import dataclasses
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from olympus_ir import RuleTable
from olympus_ir.programs.primitives import Primitive
from olympus_ir.settings import config
from olympus_ir.types import dtypes

__all__ = [
    "BOOLS",
    "BOTH_MODES",
    "COMPLEXES",
    "FLOATS",
    "INTEGERS",
    "NUMBERS",
    "SIGNED_INTEGERS",
    "Binary",
    "Case",
    "Operand",
    "Operation",
    "Unary",
    "cases",
    "sample",
    "samples",
]

FLOATS: tuple[Any, ...] = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
COMPLEXES: tuple[Any, ...] = (np.complex64, np.complex128)
SIGNED_INTEGERS: tuple[Any, ...] = (np.int32, np.int8, np.int64)
UNSIGNED_INTEGERS: tuple[Any, ...] = (np.uint32, np.uint8)
INTEGERS = SIGNED_INTEGERS + UNSIGNED_INTEGERS
NUMBERS = FLOATS + COMPLEXES + INTEGERS
BOOLS: tuple[Any, ...] = (np.bool_,)

BOTH_MODES = ("forward", "reverse")

_WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))
# Derivatives are compared with finite differences in double precision only.
_DIFFERENTIATED = frozenset(map(np.dtype, ("float64", "complex128")))

# A table from a primitive to a function without arguments that returns its cases.
samples: RuleTable[Callable[[], list[Case]]] = RuleTable(
    "sample", package="olympus_testing", folder="samples"
)


@dataclasses.dataclass(frozen=True)
class Operand:
    """Array operand with pseudo-random elements, which are the same in every run.

    Attributes:
      shape: the shape.
      domain: the range of the elements; for complex numbers, the range of both parts. For integers,
        the range includes both ends.
      dtype: the dtype; the dtype of the case if None.
    """

    shape: tuple[int, ...] = ()
    domain: tuple[float, float] = (-2.0, 2.0)
    dtype: Any = None

    def draw(self, generator: np.random.Generator, dtype: Any) -> np.ndarray:
        """Draws elements of the domain."""
        dtype = np.dtype(dtype if self.dtype is None else self.dtype)
        low, high = self.domain
        if dtype == np.bool_:
            return generator.integers(0, 2, self.shape).astype(dtype)
        if dtypes.issubdtype(dtype, np.integer):
            limits = dtypes.iinfo(dtype)
            low, high = max(int(low), int(limits.min)), min(int(high), int(limits.max))
            return generator.integers(low, high, self.shape, endpoint=True).astype(dtype)
        values = generator.uniform(low, high, self.shape)
        if dtype.kind == "c":
            values = values + 1j * generator.uniform(low, high, self.shape)
        return np.asarray(values).astype(dtype)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """Application of a primitive to concrete operands.

    Attributes:
      primitive: the primitive.
      label: a description of the case, with the dtype.
      make_args: a function of a random generator that returns legal operands, always of the same
        types.
      params: the parameters.
      differentiable: the positions of operands whose derivatives can be compared with finite
        differences; empty if there is no derivative or the precision is too low.
      order: the highest order of derivatives to compare.
      modes: the supported modes of differentiation: "forward", "reverse" or both.
      batchable: the positions of operands that may be batched.
      tolerance: a relative tolerance that replaces the tolerance of the dtype.
      canonical: a function for results with several legal forms, such as eigenvectors of any phase.
        It maps all legal forms of the results to the same values.
    """

    primitive: Primitive
    label: str
    make_args: Callable[[np.random.Generator], tuple[Any, ...]]
    params: Mapping[str, Any]
    differentiable: tuple[int, ...] = ()
    order: int = 2
    modes: tuple[str, ...] = BOTH_MODES
    batchable: tuple[int, ...] = ()
    tolerance: float | None = None
    canonical: Callable[[list[np.ndarray]], list[np.ndarray]] | None = None

    @property
    def args(self) -> tuple[Any, ...]:
        """The operands."""
        return self.examples(1)[0]

    def examples(self, count: int) -> list[tuple[Any, ...]]:
        """Draws ``count`` tuples of operands of the same types."""
        seed = zlib.crc32(str(self).encode())
        return [self.make_args(np.random.default_rng((seed, index))) for index in range(count)]

    def run(self, *args: Any) -> Any:
        """Applies the primitive to operands, with the case's parameters."""
        if self.primitive.bind_equation is not None:
            return self.primitive.bind_equation(args, dict(self.params))
        return self.primitive.bind(*args, **self.params)

    def context(self) -> contextlib.AbstractContextManager[Any]:
        """Configuration of the case; it enables 64-bit types if operands have them."""
        values = [*self.args, *self.params.values()]
        found = [getattr(value, "dtype", value) for value in values]
        wide = any(isinstance(dtype, np.dtype) and dtype in _WIDE for dtype in found)
        return config.enable_x64(True) if wide else contextlib.nullcontext()

    def __str__(self) -> str:
        return f"{self.primitive.name}-{self.label}"

    __repr__ = __str__


@dataclasses.dataclass(frozen=True)
class Operation:
    """Application of a primitive, for several dtypes.

    Attributes:
      label: a description.
      operands: `Operand`s, NumPy arrays, or functions ``(generator, dtype) -> operand``.
      params: the parameters, or a function from the dtype to the parameters.
      dtypes: the dtypes of operands without a dtype.
      differentiable: the operands whose derivatives can be compared with finite differences: all
        inexact operands (True), those at the given positions, or none (False).
      order: the highest order of derivatives to compare.
      modes: as in `Case`.
      batchable: the operands that may be batched: all (True), those at the given positions, or none
        (False).
      tolerance: a relative tolerance that replaces the tolerance of the dtype.
      canonical: as in `Case`.
    """

    label: str
    operands: Sequence[Any]
    params: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]] = dataclasses.field(
        default_factory=dict
    )
    dtypes: Sequence[Any] = (np.float32, np.float64)
    differentiable: bool | tuple[int, ...] = True
    order: int = 2
    modes: tuple[str, ...] = BOTH_MODES
    batchable: bool | tuple[int, ...] = True
    tolerance: float | None = None
    canonical: Callable[[list[np.ndarray]], list[np.ndarray]] | None = None

    def cases(self, primitive: Primitive) -> list[Case]:
        """Returns one case for each dtype."""
        return [self._case(primitive, np.dtype(dtype)) for dtype in self.dtypes]

    def _case(self, primitive: Primitive, dtype: np.dtype) -> Case:
        def make_args(generator: np.random.Generator) -> tuple[Any, ...]:
            return tuple(_draw(operand, generator, dtype) for operand in self.operands)

        example = make_args(np.random.default_rng(0))
        positions = range(len(example))
        if isinstance(self.differentiable, tuple):
            differentiable = self.differentiable
        else:
            differentiable = tuple(positions) if self.differentiable else ()
        return Case(
            primitive,
            f"{self.label}-{dtype.name}",
            make_args,
            self.params(dtype) if callable(self.params) else self.params,
            tuple(
                position
                for position in differentiable
                if np.asarray(example[position]).dtype in _DIFFERENTIATED
            ),
            self.order,
            self.modes,
            self.batchable
            if isinstance(self.batchable, tuple)
            else tuple(positions) * self.batchable,
            self.tolerance,
            self.canonical,
        )


def _draw(operand: Any, generator: np.random.Generator, dtype: np.dtype) -> Any:
    if isinstance(operand, Operand):
        return operand.draw(generator, dtype)
    if callable(operand):
        return operand(generator, dtype)
    return operand


# Special values, for which IEEE 754 and the C standard define the results of functions.
_SPECIAL_VALUES = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])


@dataclasses.dataclass(frozen=True)
class Unary:
    """Elementwise operation of one operand.

    Attributes:
      domain: the range of the operand's elements.
      dtypes: the dtypes; the first dtype is tested with more shapes.
      params: the parameters.
      differentiable: as in `Operation`.
      order: as in `Operation`.
      special_values: whether zeros, ones, infinities and NaN are legal operands.
      tolerance: as in `Operation`.
      prefix: a prefix of the cases' labels, for primitives with several declarations.
    """

    domain: tuple[float, float] = (-2.0, 2.0)
    dtypes: Sequence[Any] = FLOATS
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    differentiable: bool = True
    order: int = 2
    special_values: bool = True
    tolerance: float | None = None
    prefix: str = ""

    def cases(self, primitive: Primitive) -> list[Case]:
        """Returns cases of several shapes and dtypes."""

        def operation(label: str, operand: Any, dtypes_of_case: Sequence[Any], **changes: Any):
            options = {
                "differentiable": self.differentiable,
                "order": self.order,
                "tolerance": self.tolerance,
                **changes,
            }
            return Operation(
                self.prefix + label, (operand,), self.params, dtypes_of_case, **options
            )

        first = self.dtypes[:1]
        found = [
            operation("matrix", Operand((2, 3), self.domain), self.dtypes),
            operation("scalar", Operand((), self.domain), first),
            operation("empty", Operand((0, 2), self.domain), first),
        ]
        if self.special_values and first[0] == np.float32:
            values = _SPECIAL_VALUES.astype(np.float32)
            found.append(operation("special", values, first, differentiable=False))
        return [case for rules in found for case in rules.cases(primitive)]


@dataclasses.dataclass(frozen=True)
class Binary:
    """Elementwise operation of two operands.

    Attributes:
      domain: the range of the first operand's elements.
      second_domain: the range of the second operand's elements; ``domain`` if None.
      dtypes: the dtypes; the first dtype is tested with more shapes.
      second_dtype: the dtype of the second operand, if it differs from the dtype of the first.
      params: the parameters.
      differentiable: as in `Operation`.
      order: as in `Operation`.
      special_values: whether zeros, ones, infinities and NaN are legal operands.
      tolerance: as in `Operation`.
      prefix: a prefix of the cases' labels, for primitives with several declarations.
    """

    domain: tuple[float, float] = (-2.0, 2.0)
    second_domain: tuple[float, float] | None = None
    dtypes: Sequence[Any] = FLOATS
    second_dtype: Any = None
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    differentiable: bool | tuple[int, ...] = True
    order: int = 2
    special_values: bool = True
    tolerance: float | None = None
    prefix: str = ""

    def cases(self, primitive: Primitive) -> list[Case]:
        """Returns cases of several dtypes and shapes: equal shapes, scalars, and sizes of one."""
        found = []

        def add(label: str, operands: tuple, dtypes_of_case: Sequence[Any], **changes: Any) -> None:
            options = {
                "differentiable": self.differentiable,
                "order": self.order,
                "tolerance": self.tolerance,
                **changes,
            }
            found.append(
                Operation(self.prefix + label, operands, self.params, dtypes_of_case, **options)
            )

        def pair(x_shape: tuple, y_shape: tuple) -> tuple:
            second_domain = self.domain if self.second_domain is None else self.second_domain
            return Operand(x_shape, self.domain), Operand(y_shape, second_domain, self.second_dtype)

        few = [dtype for dtype in self.dtypes if dtype in (self.dtypes[0], np.float64)]
        add("matrices", pair((2, 3), (2, 3)), self.dtypes)
        add("scalar_and_matrix", pair((), (2, 3)), few)
        add("matrix_and_scalar", pair((2, 3), ()), few)
        add("row_and_column", pair((1, 3), (2, 1)), few)
        add("scalars", pair((), ()), self.dtypes[:1])
        if self.special_values and self.dtypes[0] == np.float32 and self.second_dtype is None:
            x, y = np.meshgrid(_SPECIAL_VALUES, _SPECIAL_VALUES)
            pairs = (x.astype(np.float32), y.astype(np.float32))
            add("special", pairs, self.dtypes[:1], differentiable=False)
        return [case for rules in found for case in rules.cases(primitive)]


def sample(primitive: Primitive, *declarations: Any) -> None:
    """Declares the sample of a primitive.

    Args:
      primitive: the primitive.
      *declarations: `Unary`, `Binary`, `Operation`, or `Case` objects.

    Raises:
      ValueError: the primitive has a sample already.

    Example:
      >>> from olympus_ir import lax
      >>> cases(lax.cbrt_p)[0]
      cbrt-matrix-float32
    """

    def make() -> list[Case]:
        return [
            case
            for declaration in declarations
            for case in (
                [declaration] if isinstance(declaration, Case) else declaration.cases(primitive)
            )
        ]

    samples.define(primitive, make)


def cases(*primitives: Primitive, families: Iterable[str] = ()) -> list[Case]:
    """Returns the cases of primitives, of families of primitives, or of all primitives.

    Args:
      *primitives: the primitives.
      families: the names of families of primitives.
    """
    families = set(families)
    chosen: Iterable[Primitive] = primitives or [
        primitive for primitive in samples if not families or primitive.family in families
    ]
    return [case for primitive in chosen for case in samples[primitive]()]

# SPDX-License-Identifier: Apache-2.0
"""The builder of kernels in MLIR, which the lowerings to Triton and Mosaic specialize."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.errors import OlympusError
from olympus_ir.diagnostics.source_info import summarize
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Literal, Olympuspr
from olympus_ir.programs.rules import RuleTable
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray
from olympus_xla.compiling.lowering import mlir
from olympus_xla.compiling.lowering.building import BlockBuilder
from olympus_xla.compiling.lowering.mlir import ir

from .attributes import index_type

__all__ = ["KernelBuilder", "KernelLoweringError", "element_of", "element_type"]

INT32 = np.dtype(np.int32)
BOOL = np.dtype(np.bool_)


class KernelLoweringError(OlympusError, NotImplementedError):
    """Error for a kernel that the language of its platform cannot express."""


def element_type(dtype: Any) -> Any:
    """Returns the MLIR type of an element; integer types are signless."""
    dtype = np.dtype(dtype)
    if is_unsigned(dtype) and dtype != BOOL:
        dtype = np.dtype(dtype.name.removeprefix("u"))
    return mlir.element_type(dtype)


def element_of(value: Any) -> Any:
    """Returns the MLIR type of a value's elements."""
    try:
        return ir.ShapedType(value.type).element_type
    except ValueError:
        return value.type


def typed_attribute(value: Any, mlir_type: Any, dtype: Any) -> Any:
    """Returns a scalar constant as an attribute."""
    if dtype is None or np.dtype(dtype).kind in "iub":
        number = int(value)
        if dtype is not None and np.dtype(dtype).kind == "u":
            bits = 8 * np.dtype(dtype).itemsize
            number -= (number >> (bits - 1)) << bits  # the same bits as a signed number
        if dtype is not None and np.dtype(dtype) == BOOL:
            number = -int(bool(value))
        return ir.IntegerAttr.get(mlir_type, number)
    return ir.FloatAttr.get(mlir_type, float(value), loc=mlir.unknown_location())


class KernelBuilder(BlockBuilder):
    """Builder of the operations of a block, with the equation that is being lowered.

    Attributes:
      rules: table from primitives to `rule(builder, *operands, **params)`.
      kernel: state of the whole kernel; its class depends on the language.
      used: the variables of the equation's program that a later equation or a result uses.
    """

    rules: RuleTable[Callable[..., Any]]
    language: str

    __slots__ = ("kernel", "used")

    def __init__(self, kernel: Any, block: Any) -> None:
        super().__init__(block)
        self.kernel = kernel
        self.used: set[Any] = set()

    # ---- types, in which the languages differ ----

    def shaped_type(self, shape: Sequence[int], mlir_element: Any) -> Any:
        """Returns the type of an array of an MLIR element type; the rank is at least 1."""
        raise NotImplementedError(f"{type(self).__name__} must define `shaped_type`")

    def splat(self, scalar: Any, shape: Sequence[int]) -> Any:
        """Returns an array whose elements are all one scalar."""
        raise NotImplementedError(f"{type(self).__name__} must define `splat`")

    def broadcast_to(self, value: Any, shape: Sequence[int]) -> Any:
        """Broadcasts a scalar, or an array with dimensions of size 1."""
        raise NotImplementedError(f"{type(self).__name__} must define `broadcast_to`")

    def reshape(self, value: Any, shape: Sequence[int]) -> Any:
        """Reshapes a value; the shape () gives a scalar."""
        raise NotImplementedError(f"{type(self).__name__} must define `reshape`")

    def check_aval(self, aval: Any) -> None:
        """Checks that the language has arrays of an abstract type."""

    def value_type(self, aval: Any) -> Any:
        """Returns the MLIR type of a value of an abstract type."""
        element = element_type(aval.dtype)
        return self.shaped_type(aval.shape, element) if aval.shape else element

    def like(self, value: Any, mlir_element: Any) -> Any:
        """Returns the array type of elements ``mlir_element`` in the shape of ``value``."""
        shape = self.shape_of(value)
        return self.shaped_type(shape, mlir_element) if shape else mlir_element

    @staticmethod
    def shape_of(value: Any) -> tuple[int, ...]:
        """Returns the shape of an MLIR value; () for scalars."""
        kind = value.type
        try:
            return tuple(ir.ShapedType(kind).shape)
        except ValueError:
            return ()

    # ---- building ----

    def region(
        self, operation: Any, index: int, argument_types: Sequence[Any] = ()
    ) -> KernelBuilder:
        """Returns the builder of a new block in one of an operation's regions."""
        inner = type(self)(self.kernel, self.new_block(operation, index, argument_types))
        inner.location = self.location
        inner.equation = self.equation
        return inner

    def end(self, results: Sequence[Any] = (), name: str = "scf.yield") -> None:
        """Ends the block with a terminator."""
        self.operation(name, [], results)

    def scalar(self, value: Any, dtype: Any) -> Any:
        """Returns a scalar constant."""
        mlir_type = element_type(dtype)
        attribute = typed_attribute(value, mlir_type, dtype)
        return self.create("arith.constant", mlir_type, (), {"value": attribute})

    def full(self, value: Any, shape: Sequence[int], dtype: Any) -> Any:
        """Returns an array whose elements are all one constant."""
        if not len(shape):
            return self.scalar(value, dtype)
        mlir_element = element_type(dtype)
        kind = self.shaped_type(shape, mlir_element)
        attribute = ir.DenseElementsAttr.get_splat(
            kind, typed_attribute(value, mlir_element, dtype)
        )
        return self.create("arith.constant", kind, (), {"value": attribute})

    def int32(self, value: int) -> Any:
        return self.scalar(value, INT32)

    def index(self, value: int) -> Any:
        """Returns a constant of type ``index``."""
        attribute = ir.IntegerAttr.get(index_type(), value)
        return self.create("arith.constant", index_type(), (), {"value": attribute})

    def binary(self, name: str, left: Any, right: Any) -> Any:
        """Builds an operation of two values of the same type."""
        return self.create(name, left.type, (left, right))

    def add(self, left: Any, right: Any) -> Any:
        return self.binary("arith.addi", left, right)

    def multiply(self, left: Any, right: Any) -> Any:
        return self.binary("arith.muli", left, right)

    def compare(self, predicate: int, left: Any, right: Any) -> Any:
        """Builds ``arith.cmpi``; ``predicate`` is MLIR's code of the comparison."""
        return self.create(
            "arith.cmpi",
            self.like(left, element_type(BOOL)),
            (left, right),
            {"predicate": mlir.i64(predicate)},
        )

    def with_known_indices(self, operands: Sequence[Any], first: int = 0) -> list[Any]:
        """Returns the operands, with integer literals as Python integers.

        ``operands`` are the equation's operands from index ``first`` on.
        """
        return [
            int(atom.val)
            if atom.__class__ is Literal and np.dtype(atom.aval.dtype).kind in "iu"
            else operand
            for operand, atom in zip(operands, self.equation.invars[first:], strict=True)
        ]

    def full_operands(self, operands: Sequence[Any], shape: Sequence[int]) -> list[Any]:
        """Returns the operands, broadcast to ``shape``."""
        if not len(shape):
            return list(operands)
        return [
            operand if self.shape_of(operand) == shape else self.broadcast_to(operand, shape)
            for operand in operands
        ]

    # ---- programs ----

    def lower(self, program: Olympuspr | ClosedOlympuspr, arguments: Sequence[Any]) -> list[Any]:
        """Lowers a program; returns the values of its results."""
        consts: Sequence[Any] = ()
        if isinstance(program, ClosedOlympuspr):
            program, consts = program.jaxpr, program.consts
        values: dict[Any, Any] = dict(zip(program.invars, arguments, strict=True))
        for var, constant in zip(program.constvars, consts, strict=True):
            values[var] = self.constant(constant)

        def value_of(atom: Any) -> Any:
            if atom.__class__ is Literal:
                return self.scalar(atom.val, atom.aval.dtype)
            return values[atom]

        outer = self.equation, self.location, self.used
        self.used = {atom for equation in program.eqns for atom in equation.invars}
        self.used.update(program.outvars)
        for equation in program.eqns:
            primitive = equation.primitive
            rule = self.rules.rules.get(primitive)
            expansion = expansion_rules.rules.get(primitive)
            if rule is None and expansion is None:
                raise KernelLoweringError(
                    f"`{primitive.name}` has no {self.rules.name} rule: the {self.language} "
                    f"lowering of kernels does not support it (used at "
                    f"{summarize(equation.source_info)}). Run the kernel with interpret=True, or "
                    "write it with other operations."
                )
            operands = [value_of(atom) for atom in equation.invars]
            for var in equation.outvars:
                self.check_aval(var.aval)
            self.equation = equation
            self.location = mlir.traceback_location(equation.source_info.traceback, primitive.name)
            if rule is None:
                results = self.expand(expansion, operands)
            else:
                results = rule(self, *operands, **equation.params)
            if primitive.multiple_results:
                values.update(zip(equation.outvars, results, strict=True))
            else:
                values[equation.outvars[0]] = results
        self.equation, self.location, self.used = outer
        return [value_of(atom) for atom in program.outvars]

    def expand(self, expansion: Any, operands: Sequence[Any]) -> Any:
        """Lowers the expansion of the equation's primitive."""
        equation = self.equation
        avals = [ShapedArray(aval.shape, aval.dtype) for aval in self.avals_in]
        closed = trace_to_closed(
            lambda *args: pytrees.tree_leaves(expansion(*args, **equation.params)), avals
        )
        results = self.lower(closed, operands)
        return results if equation.primitive.multiple_results else results[0]

    def constant(self, value: Any) -> Any:
        """Returns a constant of a program: a scalar, or an array of one value."""
        array = np.asarray(value)
        if array.ndim == 0:
            return self.scalar(array[()], array.dtype)
        first = array.reshape(-1)[0]
        if (array == first).all():
            return self.full(first, array.shape, array.dtype)
        raise KernelLoweringError(
            f"kernels cannot hold array constants, got one of type {array.dtype}"
            f"{list(array.shape)}. Pass it to pallas_call as an input."
        )


def is_float(dtype: Any) -> bool:
    return dtypes.issubdtype(dtype, np.floating)


def is_unsigned(dtype: Any) -> bool:
    """Returns whether comparison and division of a dtype are unsigned; true also for booleans."""
    return np.dtype(dtype) == BOOL or dtypes.issubdtype(dtype, np.unsignedinteger)


def bit_width(dtype: Any) -> int:
    return 1 if np.dtype(dtype) == BOOL else dtypes.itemsize_bits(dtype)


def product(sizes: Sequence[int]) -> int:
    return math.prod(sizes)

# SPDX-License-Identifier: Apache-2.0
"""Lowering of programs with symbolic shapes.

The usual lowering rules build operations through a context. The context of this module finds the
shapes and attributes that have symbolic dimensions (`mlir.SymbolicType`, `mlir.SymbolicIntegers`).
For these, it builds the dynamic form of an operation, which takes sizes as operands.

In the lowered module, all functions except the public function take the index of the platform and
the values of the dimension variables before their operands. The public function computes these
values from the sizes of its operands, checks the sizes, and calls the program's function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.symbolic.expressions import SymbolicDim, evaluate
from olympus_ir.symbolic.solving import Solution, UnexpectedDimVar

from . import mlir
from .context import LoweringContext, ModuleLowering
from .marks import context_class
from .mlir import ir
from .platforms import index_attributes, index_type

_INT32 = np.dtype(np.int32)
_BOOL = np.dtype(np.bool_)


class SymbolicModuleLowering(ModuleLowering):
    """A module whose functions take the values of dimension variables.

    Attributes:
      solution: the dimension variables as expressions of the operands' sizes.
      variables: the names of the variables, in the order of the operands for their values.
    """

    __slots__ = ("solution", "variables")

    def __init__(self, *args: Any, solution: Solution) -> None:
        super().__init__(*args)
        self.solution = solution
        self.variables = tuple(sorted(solution.variables))
        self.needs_refinement = True

    def dimension_types(self) -> list[Any]:
        return [mlir.tensor_type((), _INT32)] * len(self.variables)

    def new_context(self, block: Any, name_prefix: str) -> LoweringContext:
        return context_class(SymbolicContext)(self, block, name_prefix)

    def add_public_function(
        self,
        closed: Any,
        name_prefix: str,
        effects: Sequence[Any] = (),
        *,
        callers: Any = None,
        arg_attributes: Sequence[dict[str, Any]] | None = None,
        result_attributes: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        """Emits the program, and a public function that computes the variables for the program."""
        inner = self.add_function("_program", closed, name_prefix, effects, callers=callers)
        olympuspr = closed.jaxpr
        tokens = [mlir.token_type()] * len(effects)
        inputs = mlir.plain_types([mlir.aval_type(var.aval) for var in olympuspr.invars])
        outputs = mlir.plain_types([mlir.aval_type(atom.aval) for atom in olympuspr.outvars])
        index = [index_type()] if len(self.platforms) > 1 else []
        in_types, out_types = index + tokens + inputs, tokens + outputs
        attributes = {
            "sym_name": mlir.string("main"),
            "function_type": ir.TypeAttr.get(
                ir.FunctionType.get(in_types, out_types, context=mlir.context())
            ),
            "sym_visibility": mlir.string("public"),
            "arg_attrs": _dictionaries(
                [
                    *[index_attributes()] * len(index),
                    *[{}] * len(tokens),
                    *(arg_attributes or [{}] * len(inputs)),
                ]
            ),
        }
        if result_attributes is not None:
            attributes["res_attrs"] = _dictionaries([*[{}] * len(tokens), *result_attributes])
        block = _function_block(self, attributes, in_types)
        context = SymbolicContext(self, block, name_prefix)
        arguments = list(block.arguments)
        if index:
            context.platform_index = arguments[0]
        first = len(index + tokens)
        for name, (argument, dimension) in self.solution.positions.items():
            context.variables[name] = context.create(
                "stablehlo.get_dimension_size",
                mlir.tensor_type((), _INT32),
                (arguments[first + argument],),
                {"dimension": mlir.i64(dimension)},
            )
        for check in self.solution.checks:
            context.shape_assertion(check)
        values = [context.size(self.solution.variables[name]) for name in self.variables]
        operands = [*arguments[: len(index)], *values, *arguments[len(index) :]]
        results = context.operation(
            "func.call", out_types, operands, {"callee": mlir.symbol(inner)}
        ).results
        context.operation("func.return", [], results)


def _dictionaries(attributes: Sequence[dict[str, Any]]) -> Any:
    return mlir.array([mlir.dictionary(attribute) for attribute in attributes])


def _function_block(module: Any, attributes: dict[str, Any], in_types: Sequence[Any]) -> Any:
    """Returns the empty block of a new function."""
    location = mlir.unknown_location()
    function = ir.Operation.create(
        "func.func",
        [],
        [],
        attributes,
        regions=1,
        loc=location,
        ip=module.body,
        infer_type=False,
    )
    return function.regions[0].blocks.append(*in_types, arg_locs=[location] * len(in_types))


class SymbolicContext(LoweringContext):
    """A block of a program with symbolic shapes.

    Attributes:
      variables: a mapping from the names of dimension variables to their values.
    """

    __slots__ = ("_sizes", "variables")

    module: SymbolicModuleLowering

    def __init__(self, module: Any, block: Any, name_prefix: str) -> None:
        super().__init__(module, block, name_prefix)
        self.variables: dict[str, Any] = {}
        self._sizes: dict[Any, Any] = {}

    def set_dimensions(self, values: Sequence[Any]) -> None:
        """Sets the dimension variables' values to the operands that hold them."""
        self.variables = dict(zip(self.module.variables, values, strict=True))

    # ---- operations ----

    def create(
        self, name: str, result_type: Any, operands: Sequence[Any] = (), attributes: Any = None
    ) -> Any:
        return self.operation(name, [result_type], operands, attributes).results[0]

    def operation(
        self,
        name: str,
        result_types: Sequence[Any],
        operands: Sequence[Any] = (),
        attributes: dict[str, Any] | None = None,
        *,
        regions: int = 0,
    ) -> Any:
        dynamic = _dynamic_forms.get(name)
        if dynamic is not None:
            attributes = dict(attributes or {})
            is_symbolic = any(
                value.__class__ is mlir.SymbolicIntegers for value in attributes.values()
            )
            if is_symbolic or any(kind.__class__ is mlir.SymbolicType for kind in result_types):
                made = dynamic(self, result_types, list(operands), attributes)
                if made is not None:
                    return made
        types = mlir.plain_types(result_types)
        return super().operation(name, types, operands, attributes, regions=regions)

    def region(self, operation: Any, index: int, argument_types: Sequence[Any]) -> LoweringContext:
        inner = super().region(operation, index, mlir.plain_types(argument_types))
        assert isinstance(inner, SymbolicContext)
        inner.variables = self.variables
        return inner

    def end_region(self, results: Sequence[Any], name: str = "stablehlo.return") -> None:
        parent = self.block.owner
        super().end_region(results, "func.return" if parent.name == "func.func" else name)

    def reshape(self, operand: Any, shape: Sequence[int], dtype: Any) -> Any:
        return self.create("stablehlo.reshape", mlir.tensor_type(shape, dtype), (operand,))

    def scalar(self, value: Any, dtype: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype == object and not value.ndim:
            value = value.item()
        if not isinstance(value, SymbolicDim):
            return super().scalar(value, dtype)
        size = self.size(value)
        return size if dtype == _INT32 else self.convert(size, (), dtype)

    def constant(self, value: Any, dtype: Any = None) -> Any:
        array = np.asarray(value)
        if array.dtype != object or not array.ndim:
            return super().constant(value, dtype)
        flat = self.sizes(array.ravel().tolist())
        whole = flat if array.ndim == 1 else self.reshape(flat, array.shape, _INT32)
        target_dtype = _INT32 if dtype is None else np.dtype(dtype)
        return whole if target_dtype == _INT32 else self.convert(whole, array.shape, target_dtype)

    def full(self, value: Any, shape: Sequence[int], dtype: Any) -> Any:
        if isinstance(value, SymbolicDim) or mlir.has_symbolic(shape):
            # Do not reuse an array from the head of the block, where the sizes are not yet
            # computed.
            scalar = self.scalar(value, dtype)
            return self.broadcast(scalar, shape, dtype, ()) if len(shape) else scalar
        return super().full(value, shape, dtype)

    def call(
        self,
        symbol: str,
        result_types: Sequence[Any],
        operands: Sequence[Any],
        inlineable: bool = True,
    ) -> list[Any]:
        values = [self.variables[name] for name in self.module.variables]
        return super().call(symbol, result_types, [*values, *operands], inlineable)

    # ---- sizes ----

    def size(self, dimension: Any) -> Any:
        """Returns the value of a dimension, a scalar of 32-bit integers."""
        if not isinstance(dimension, SymbolicDim):
            return self.scalar(dimension, _INT32)
        found = self._sizes.get(dimension)
        if found is None:
            missing = dimension.variables() - set(self.variables)
            if missing:
                raise UnexpectedDimVar(min(missing), self.variables)
            values = {name: _Number(self, value) for name, value in self.variables.items()}
            number = evaluate(dimension, values, _OPERATIONS)
            found = self._sizes[dimension] = _value_of(self, number)
        return found

    def sizes(self, dimensions: Sequence[Any]) -> Any:
        """Returns the values of dimensions as a vector of 32-bit integers."""
        dimensions = tuple(dimensions)
        if not any(isinstance(dimension, SymbolicDim) for dimension in dimensions):
            return self.constant(np.array(dimensions, _INT32).reshape(len(dimensions)))
        found = self._sizes.get(dimensions)
        if found is None:
            one = mlir.tensor_type((1,), _INT32)
            parts = [
                self.create("stablehlo.reshape", one, (self.size(dimension),))
                if isinstance(dimension, SymbolicDim)
                else self.constant(np.array([dimension], _INT32))
                for dimension in dimensions
            ]
            if len(parts) == 1:
                found = parts[0]
            else:
                kind = mlir.tensor_type((len(parts),), _INT32)
                found = self.create(
                    "stablehlo.concatenate", kind, parts, {"dimension": mlir.i64(0)}
                )
            self._sizes[dimensions] = found
        return found

    def shape_assertion(self, check: Any) -> None:
        """Adds a check of sizes, which runs once the shapes are known."""
        if not isinstance(check.dimension, SymbolicDim) and (
            check.dimension == 0 if check.is_equality else check.dimension >= 0
        ):
            return
        direction = "EQ" if check.is_equality else "GE"
        holds = self.compare(direction, self.size(check.dimension), self.size(0), (), _INT32)
        self.custom_call_operation(
            "shape_assertion",
            [],
            [holds, *map(self.size, check.values)],
            api_version=2,
            has_side_effect=True,
            attributes={"error_message": mlir.string(check.message)},
        )


# ---- arithmetic ----


class _Number:
    """A 32-bit integer in the lowered program, with the arithmetic of dimensions."""

    __slots__ = ("context", "value")

    def __init__(self, context: SymbolicContext, value: Any) -> None:
        self.context = context
        self.value = value

    def apply(self, name: str, other: Any) -> _Number:
        kind = mlir.tensor_type((), _INT32)
        operands = (self.value, _value_of(self.context, other))
        return _Number(self.context, self.context.create(f"stablehlo.{name}", kind, operands))

    def compare(self, direction: str, other: Any) -> Any:
        right = _value_of(self.context, other)
        return self.context.compare(direction, self.value, right, (), _INT32)

    def __add__(self, other: Any) -> _Number:
        return self.apply("add", other)

    __radd__ = __add__

    def __mul__(self, other: Any) -> _Number:
        return self.apply("multiply", other)

    __rmul__ = __mul__


def _value_of(context: SymbolicContext, number: Any) -> Any:
    return number.value if isinstance(number, _Number) else context.scalar(number, _INT32)


def _as_number(context: SymbolicContext, number: Any) -> _Number:
    return _Number(context, _value_of(context, number))


def _operation(emit: Callable[[_Number, _Number], _Number]) -> Callable[[Any, Any], _Number]:
    def apply(first: Any, second: Any) -> _Number:
        context = (first if isinstance(first, _Number) else second).context
        return emit(_as_number(context, first), _as_number(context, second))

    return apply


def _floor_division(dividend: _Number, divisor: _Number) -> _Number:
    # XLA's division truncates. Floor division is one less if there is a remainder and the signs
    # differ.
    quotient = dividend.apply("divide", divisor)
    return quotient + _Number(dividend.context, _correction(dividend, divisor)).apply(
        "multiply", -1
    )


def _modulus(dividend: _Number, divisor: _Number) -> _Number:
    remainder = dividend.apply("remainder", divisor)
    return remainder + _Number(dividend.context, _correction(dividend, divisor)) * divisor


def _correction(dividend: _Number, divisor: _Number) -> Any:
    """Returns 1 if floor division differs from XLA's truncating division, else 0."""
    context = dividend.context
    remainder = dividend.apply("remainder", divisor)
    has_remainder = remainder.compare("NE", 0)
    signs = (remainder.compare("LT", 0), divisor.compare("LT", 0))
    # XLA can constant-fold these operations during shape inference.
    differ = context.compare("NE", *signs, (), _BOOL)
    rounds_down = context.create(
        "stablehlo.and", mlir.tensor_type((), _BOOL), (differ, has_remainder)
    )
    choices = (rounds_down, context.size(1), context.size(0))
    return context.create("stablehlo.select", mlir.tensor_type((), _INT32), choices)


_OPERATIONS = {
    "floordiv": _operation(_floor_division),
    "mod": _operation(_modulus),
    "max": _operation(lambda first, second: first.apply("maximum", second)),
    "min": _operation(lambda first, second: first.apply("minimum", second)),
}


# ---- dynamic forms of operations ----

DynamicForm = Callable[[SymbolicContext, Sequence[Any], list[Any], dict[str, Any]], Any]
_dynamic_forms: dict[str, DynamicForm] = {}


def _dynamic_form(name: str) -> Callable[[DynamicForm], DynamicForm]:
    def define(form: DynamicForm) -> DynamicForm:
        _dynamic_forms[name] = form
        return form

    return define


def _shape_of(kind: Any) -> tuple[Any, ...]:
    return kind.shape if kind.__class__ is mlir.SymbolicType else tuple(kind.shape)


def _values(attribute: Any) -> list[Any]:
    """Returns the integers of an attribute, which may be symbolic, as a list or as nested lists."""
    if attribute.__class__ is mlir.SymbolicIntegers:
        return attribute.values.tolist()
    if isinstance(attribute, ir.DenseElementsAttr):
        return np.asarray(attribute).tolist()
    return list(attribute)


def _with_sizes(name: str) -> DynamicForm:
    """Returns the form that builds ``name``, with the result's shape as last operand."""

    def form(context: Any, result_types: Any, operands: Any, attributes: Any) -> Any:
        operands = [*operands, context.sizes(_shape_of(result_types[0]))]
        return context.operation(name, result_types, operands, attributes)

    return form


_dynamic_forms["stablehlo.broadcast_in_dim"] = _with_sizes("stablehlo.dynamic_broadcast_in_dim")
_dynamic_forms["stablehlo.reshape"] = _with_sizes("stablehlo.dynamic_reshape")
_dynamic_forms["stablehlo.iota"] = _with_sizes("stablehlo.dynamic_iota")


def _attributes_as_operands(dynamic_name: str, *names: str) -> DynamicForm:
    """Returns the form that builds ``dynamic_name``, with the attributes ``names`` as operands."""

    def form(context: Any, result_types: Any, operands: Any, attributes: Any) -> Any:
        if not any(attributes[name].__class__ is mlir.SymbolicIntegers for name in names):
            return None
        vectors = [context.sizes(_values(attributes.pop(name))) for name in names]
        return context.operation(dynamic_name, result_types, [*operands, *vectors], attributes)

    return form


_dynamic_forms["stablehlo.slice"] = _attributes_as_operands(
    "stablehlo.real_dynamic_slice", "start_indices", "limit_indices", "strides"
)
_dynamic_forms["stablehlo.pad"] = _attributes_as_operands(
    "stablehlo.dynamic_pad", "edge_padding_low", "edge_padding_high", "interior_padding"
)
_dynamic_forms["stablehlo.gather"] = _attributes_as_operands(
    "stablehlo.dynamic_gather", "slice_sizes"
)


@_dynamic_form("stablehlo.dynamic_slice")
def _dynamic_slice(context: Any, result_types: Any, operands: Any, attributes: Any) -> Any:
    """Builds a slice with computed bounds, which are clamped as in ``dynamic_slice``."""
    if attributes["slice_sizes"].__class__ is not mlir.SymbolicIntegers:
        return None
    operand, *starts = operands
    lengths = _values(attributes["slice_sizes"])
    scalar, one = mlir.tensor_type((), _INT32), mlir.tensor_type((1,), _INT32)
    lows = []
    for dimension, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        start = context.convert(start, (), _INT32)
        size = context.create(
            "stablehlo.get_dimension_size",
            scalar,
            (operand,),
            {"dimension": mlir.i64(dimension)},
        )
        last = context.create("stablehlo.subtract", scalar, (size, context.size(length)))
        low = context.create("stablehlo.clamp", scalar, (context.size(0), start, last))
        lows.append(context.create("stablehlo.reshape", one, (low,)))
    kind = mlir.tensor_type((len(lows),), _INT32)
    low = context.create("stablehlo.concatenate", kind, lows, {"dimension": mlir.i64(0)})
    high = context.create("stablehlo.add", kind, (low, context.sizes(lengths)))
    strides = context.sizes((1,) * len(lows))
    return context.operation(
        "stablehlo.real_dynamic_slice", result_types, [operand, low, high, strides]
    )


@_dynamic_form("stablehlo.convolution")
def _convolution(context: Any, result_types: Any, operands: Any, attributes: Any) -> Any:
    if attributes["padding"].__class__ is not mlir.SymbolicIntegers:
        return None
    padding = context.constant(attributes.pop("padding").values)
    return context.operation(
        "stablehlo.dynamic_conv", result_types, [*operands, padding], attributes
    )


class _CalledFunction:
    """Stand-in for an operation whose region is a function of the module."""

    def __init__(self, operation: Any, function: Any) -> None:
        self.results = operation.results
        self.regions = function.regions


@_dynamic_form("stablehlo.reduce_window")
def _reduce_window(context: Any, result_types: Any, operands: Any, attributes: Any) -> Any:
    """Builds a window reduction as a custom call, because no form with dynamic windows exists."""
    names = (
        "window_dimensions",
        "window_strides",
        "base_dilations",
        "window_dilations",
    )
    if not any(attributes[name].__class__ is mlir.SymbolicIntegers for name in (*names, "padding")):
        return None
    windows = [context.sizes(_values(attributes[name])) for name in names]
    padding = context.constant(np.array(_values(attributes["padding"]), object))
    scalars = [operand.type for operand in operands[len(operands) // 2 :]]
    location = mlir.unknown_location()
    symbol = context.module.unique_name("window_reducer")
    kind = ir.FunctionType.get([*scalars, *scalars], scalars, context=mlir.context())
    function = ir.Operation.create(
        "func.func",
        [],
        [],
        {
            "sym_name": mlir.string(symbol),
            "function_type": ir.TypeAttr.get(kind),
            "sym_visibility": mlir.string("private"),
        },
        regions=1,
        loc=location,
        ip=context.module.body,
        infer_type=False,
    )
    call = context.custom_call_operation(
        "stablehlo.dynamic_reduce_window",
        result_types,
        [*operands, *windows, padding],
        api_version=2,
        attributes={"called_computations": mlir.array([mlir.symbol(symbol)])},
    )
    return _CalledFunction(call, function)


@_dynamic_form("chlo.top_k")
def _top_k(context: Any, result_types: Any, operands: Any, attributes: Any) -> Any:
    count: Any = attributes["k"]
    if count.__class__ is mlir.SymbolicIntegers:
        count = count.values.item()
    else:
        count = ir.IntegerAttr(count).value
    return context.custom_call_operation(
        "stablehlo.dynamic_top_k", result_types, [*operands, context.size(count)], api_version=2
    )


@_dynamic_form("stablehlo.rng_bit_generator")
def _random_bits(context: Any, result_types: Any, operands: Any, attributes: Any) -> Any:
    sizes = context.sizes(_shape_of(result_types[1]))
    return context.custom_call_operation(
        "stablehlo.dynamic_rng_bit_generator",
        result_types,
        [*operands, sizes],
        api_version=2,
        attributes={"rng_algorithm": attributes["rng_algorithm"]},
    )


@_dynamic_form("stablehlo.custom_call")
def _custom_call(context: Any, result_types: Any, operands: Any, attributes: Any) -> Any:
    """Builds a call that also takes the shapes of its results, for shape inference."""
    target = ir.StringAttr(attributes["call_target_name"]).value
    if target.startswith("stablehlo.dynamic_") or "indices_of_shape_operands" in attributes:
        return None
    shapes = [context.sizes(_shape_of(kind)) for kind in result_types]
    attributes["indices_of_shape_operands"] = mlir.i64_elements(
        range(len(operands), len(operands) + len(shapes))
    )
    if "operand_layouts" in attributes:
        layouts = [*attributes["operand_layouts"], *[mlir.index_elements((0,))] * len(shapes)]
        attributes["operand_layouts"] = mlir.array(layouts)
    return context.operation(
        "stablehlo.custom_call", result_types, [*operands, *shapes], attributes
    )

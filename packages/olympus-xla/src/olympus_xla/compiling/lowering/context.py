# SPDX-License-Identifier: Apache-2.0
"""Lowering of an olympuspr to a StableHLO module, in one pass over the equations.

A `ModuleLowering` owns one module: its functions, constants, callbacks and platforms. A
`LoweringContext` stands for one block of operations, and serves all equations of the block. Rules
build operations with a `LoweringContext`. Both classes have slots to be fast, because every
equation uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.name_stacks import name_stack_text
from olympus_ir.diagnostics.traced_lines import add_line
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Literal, Olympuspr, subolympusprs
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.settings import config_flags
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import AbstractToken, get_aval
from olympus_ir.types.extended_arrays import ExtendedArray

from ...foreign.callback_errors import AnnouncedErrors, DeferredErrors
from . import mlir
from .building import BlockBuilder, create_operation
from .comparisons import comparison_attributes
from .custom_calls import custom_call_attributes
from .layouts import lay_out
from .marks import context_class
from .mlir import ir
from .names import IN_FUNCTIONS
from .platforms import index_attributes, index_type, rule_by_platform
from .shardings import mesh_attribute
from .tables import lowering_rules, rules_for_platform


class ModuleLowering:
    """A module that is being built.

    Attributes:
      callback_errors: keeps exceptions of Python functions until the program has ended, if it runs
        on several devices.
      compile_budget: the desired compile time in seconds; None for the default.
      cuts: for each program of the module, the cuts that limit the size of fused functions.
      module: the MLIR module.
      platforms: the platforms for which the module is lowered.
      host_callbacks: the Python functions that the program calls, in the order of their indices.
      keep_alive: objects that must live as long as the executable.
      merged: a mapping from each exported function that the module calls to its symbol.
      mesh: the mesh of the operands and results; None for a single device.
      needs_refinement: whether the module calls functions with dynamic shapes. These shapes must be
        inferred from the operands' shapes before compilation.
      num_partitions: the number of devices.
      portable: whether another process may run the program, so that it cannot call Python functions
        of this process.
      replicated: the replicated sharding, if the devices are known.
      is_for_devices: whether the module depends on the specific devices, not just their number.
      ordered_effects: the ordered effects of the program, in the order of their tokens.
    """

    __slots__ = (
        "_expanded",
        "_functions",
        "_has_first_device_mesh",
        "_mesh_symbols",
        "_names",
        "axis_context",
        "body",
        "callback_errors",
        "collective_channels",
        "compile_budget",
        "cuts",
        "host_callbacks",
        "is_for_devices",
        "keep_alive",
        "merged",
        "mesh",
        "module",
        "needs_refinement",
        "num_partitions",
        "ordered_effects",
        "platforms",
        "portable",
        "replicated",
    )

    def __init__(self, name: str, platforms: Sequence[str], ordered_effects: Sequence[Any] = ()):
        location = mlir.unknown_location()
        self.module = ir.Module.create(loc=location)
        self.module.operation.attributes["sym_name"] = mlir.string(_symbol_name(name))
        self.body = ir.InsertionPoint(self.module.body)
        self.platforms = tuple(platforms)
        self.host_callbacks: list[Callable[..., Any]] = []
        self.callback_errors: DeferredErrors | AnnouncedErrors | None = None
        self.keep_alive: list[Any] = []
        self.ordered_effects = tuple(ordered_effects)
        self.axis_context: Any = None
        self.collective_channels = 0
        self._functions: dict[Any, str] = {}
        self.merged: dict[Any, str] = {}
        self.mesh: Any = None
        self.needs_refinement = False
        self.num_partitions = 1
        self.portable = False
        self.compile_budget: float | None = None
        self.cuts: list[Any] = []
        self.replicated: Any = None
        self.is_for_devices = False
        self._mesh_symbols: dict[tuple, str] = {}
        self._has_first_device_mesh = False
        self._names: dict[str, int] = {"main": 1}
        self._expanded: dict[Any, ClosedOlympuspr] = {}

    def set_partitions(self, count: int) -> None:
        """Sets the number of devices over which the program is partitioned."""
        self.num_partitions = count
        attributes = self.module.operation.attributes
        attributes["mhlo.num_partitions"] = mlir.i32(count)
        attributes["mhlo.num_replicas"] = mlir.i32(1)

    def mesh_symbol(self, mesh: Any) -> str:
        """Returns the symbol of a mesh over the module's devices. Declares the mesh on first use.

        The first mesh holds the operands and results. Other meshes have the same devices in the
        same order, but other axes.
        """
        symbol = self._mesh_symbols.get(mesh.shape_tuple)
        if symbol is None:
            count = len(self._mesh_symbols)
            if not count:
                self.mesh = mesh
            symbol = f"mesh_{count - 1}" if count else "mesh"
            self._mesh_symbols[mesh.shape_tuple] = symbol
            self._declare_mesh(symbol, mesh_attribute(mesh))
        return symbol

    def first_device_symbol(self) -> str:
        """Returns the symbol of a mesh of only the first device. Declares the mesh on first use."""
        symbol = "maximal_mesh_0"
        if not self._has_first_device_mesh:
            self._has_first_device_mesh = True
            self._declare_mesh(symbol, mlir.parsed("#sdy.mesh<[], device_ids=[0]>"))
        return symbol

    def _declare_mesh(self, symbol: str, attribute: Any) -> None:
        create_operation(
            "sdy.mesh",
            [],
            [],
            {"sym_name": mlir.string(symbol), "mesh": attribute},
            loc=mlir.unknown_location(),
            ip=self.body,
            infer_type=False,
        )

    def unique_name(self, name: str) -> str:
        """Returns a symbol that no function of the module has."""
        name = _symbol_name(name)
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        if count == 0:
            return name
        return self.unique_name(f"{name}_{count - 1}")

    def new_channel(self) -> int:
        self.collective_channels += 1
        return self.collective_channels

    def add_function(
        self,
        name: str,
        closed: ClosedOlympuspr,
        name_prefix: str,
        effects: Sequence[Any] = (),
        *,
        public: bool = False,
        platforms: tuple[str, ...] | None = None,
        callers: Any = None,
        arg_attributes: Sequence[dict[str, Any]] | None = None,
        result_attributes: Sequence[dict[str, Any]] | None = None,
    ) -> str:
        """Emits a program as a function of the module and returns its symbol.

        The operands of the function are the index of the platform if there are several, the
        dimension variables if there are any, the tokens of ``effects``, and the program's inputs.
        Its results are the tokens and the program's results.
        """
        symbol = name if public else self.unique_name(name)
        olympuspr = closed.jaxpr
        tokens = [mlir.token_type()] * len(effects)
        inputs = [mlir.aval_type(var.aval) for var in olympuspr.invars]
        outputs = [mlir.aval_type(atom.aval) for atom in olympuspr.outvars]
        platforms = self.platforms if platforms is None else platforms
        index = [index_type()] if len(platforms) > 1 else []
        dimensions = self.dimension_types()
        if dimensions:
            inputs, outputs = mlir.plain_types(inputs), mlir.plain_types(outputs)
        in_types, out_types = index + dimensions + tokens + inputs, tokens + outputs
        location = mlir.unknown_location()
        if arg_attributes is not None or index:
            own = [index_attributes()] * len(index) + [{}] * len(dimensions + tokens)
            arg_attributes = own + list(arg_attributes or [{}] * len(inputs))
        if result_attributes is not None:
            result_attributes = [{}] * len(tokens) + list(result_attributes)
        function = create_operation(
            "func.func",
            [],
            [],
            _function_attributes(
                symbol, in_types, out_types, public, arg_attributes, result_attributes
            ),
            regions=1,
            loc=location,
            ip=self.body,
            infer_type=False,
        )
        block = function.regions[0].blocks.append(*in_types, arg_locs=[location] * len(in_types))
        context: Any = self.new_context(block, name_prefix)
        context.platforms = platforms
        context.callers = callers
        arguments = list(block.arguments)
        if index:
            context.platform_index = arguments.pop(0)
        if dimensions:
            context.set_dimensions(arguments[: len(dimensions)])
            del arguments[: len(dimensions)]
        context.tokens = dict(zip(effects, arguments[: len(tokens)], strict=True))
        results = context.lower(closed, arguments[len(tokens) :])
        out_tokens = [context.tokens[effect] for effect in effects]
        create_operation(
            "func.return",
            [],
            out_tokens + results,
            None,
            loc=location,
            ip=context.insertion_point,
            infer_type=False,
        )
        return symbol

    def add_public_function(self, closed: Any, name_prefix: str, *args: Any, **keywords: Any):
        """Emits the main function of the module; see `add_function`."""
        self.add_function("main", closed, name_prefix, *args, public=True, **keywords)

    def dimension_types(self) -> list[Any]:
        """Returns the types of the dimension variables, which are operands of every function."""
        return []

    def new_context(self, block: Any, name_prefix: str) -> LoweringContext:
        """Returns a context for a block."""
        return context_class(LoweringContext)(self, block, name_prefix)

    def function_for(
        self,
        key: Any,
        name: str,
        closed: ClosedOlympuspr,
        name_prefix: str,
        effects: Sequence[Any],
        platforms: tuple[str, ...] | None = None,
    ) -> str:
        """Returns the symbol of a program's function. Emits the function once for equal keys."""
        key = (key, tuple(effects), platforms)
        symbol = self._functions.get(key)
        if symbol is None:
            symbol = self._functions[key] = self.add_function(
                name, closed, name_prefix, effects, platforms=platforms
            )
            self.keep_alive.append(closed)
        return symbol


def _symbol_name(name: str) -> str:
    """Converts a name to a symbol.

    Characters that symbols cannot contain become underscores. Underscores at the end are removed.
    """
    return "".join(c if c.isalnum() or c in "_.$-" else "_" for c in name).rstrip("_") or "_"


def _function_attributes(
    symbol: str,
    in_types: Sequence[Any],
    out_types: Sequence[Any],
    public: bool,
    arg_attributes: Sequence[dict[str, Any]] | None,
    result_attributes: Sequence[dict[str, Any]] | None,
) -> dict[str, Any]:
    """Returns the attributes of ``func.func``."""
    function_type = ir.FunctionType.get(in_types, out_types, context=mlir.context())
    attributes = {
        "sym_name": mlir.string(symbol),
        "function_type": ir.TypeAttr.get(function_type),
        "sym_visibility": mlir.string("public" if public else "private"),
    }
    for name, values in (("arg_attrs", arg_attributes), ("res_attrs", result_attributes)):
        if values is not None:
            attributes[name] = mlir.array(list(map(mlir.dictionary, values)))
    return attributes


class LoweringContext(BlockBuilder):
    """A block of StableHLO, and the equation that is being lowered.

    Attributes:
      module: the `ModuleLowering`.
      tokens: the current token of each ordered effect.
      platforms: the platforms on which the block may run.
      platform_index: the value of the platform's index; None for one platform.
      callers: the tracebacks of the enclosing calls, innermost first, as nested pairs. They are
        needed because an equation has only the lines of its own program.
    """

    __slots__ = (
        "_constants",
        "callers",
        "module",
        "name_prefix",
        "platform_index",
        "platforms",
        "tokens",
    )

    def __init__(self, module: ModuleLowering, block: Any, name_prefix: str) -> None:
        super().__init__(block)
        self.module = module
        self.name_prefix = name_prefix
        self.callers: Any = None
        self.tokens: dict[Any, Any] = {}
        self.platforms = module.platforms
        self.platform_index: Any = None
        self._constants: dict[Any, Any] = {}

    # ---- types ----

    @property
    def is_for_this_cpu(self) -> bool:
        """Returns whether the program runs on one CPU device, with the lowerings for CPUs."""
        return (
            self.platforms == ("cpu",)
            and self.module.num_partitions == 1
            and not self.module.portable
            and config_flags.cpu_lowerings.value
        )

    @property
    def result_types(self) -> list[Any]:
        return [mlir.aval_type(var.aval) for var in self.equation.outvars]

    # ---- operations ----

    def region(self, operation: Any, index: int, argument_types: Sequence[Any]) -> LoweringContext:
        """Returns the context of a new block in one of an operation's regions."""
        block = self.new_block(operation, index, argument_types)
        inner = self.module.new_context(block, self.name_prefix)
        inner.location = self.location
        inner.callers = self.callers
        inner.equation = self.equation
        inner.tokens = dict(self.tokens)
        inner.platforms = self.platforms
        inner.platform_index = self.platform_index
        return inner

    def end_region(self, results: Sequence[Any], name: str = "stablehlo.return") -> None:
        """Ends the block with an operation that returns the given values."""
        self.operation(name, [], results)

    def constant(self, value: Any, dtype: Any = None) -> Any:
        """Returns a constant array. A block emits each constant of rank 0 once."""
        array = np.asarray(value, dtype)
        if array.ndim == 0:
            return self.scalar(array, array.dtype)
        return self.create(
            "stablehlo.constant",
            mlir.tensor_type(array.shape, array.dtype),
            (),
            {"value": mlir.dense(array)},
        )

    def scalar(self, value: Any, dtype: Any) -> Any:
        """Returns a constant of rank 0. A block emits each constant once."""
        attribute = mlir.splat(value, (), dtype)
        found = self._constants.get(attribute)
        if found is None:
            # Constants are at the head of the block, where all later operations can use them.
            found = self._constants[attribute] = create_operation(
                "stablehlo.constant",
                [mlir.tensor_type((), dtype)],
                (),
                {"value": attribute},
                loc=mlir.unknown_location(),
                ip=ir.InsertionPoint.at_block_begin(self.block),
                infer_type=False,
            ).result
        return found

    def full(self, value: Any, shape: Sequence[int], dtype: Any) -> Any:
        """Returns an array filled with one value. A block emits each filled array once."""
        scalar = self.scalar(value, dtype)
        if not len(shape):
            return scalar
        key = (mlir.splat(value, (), dtype), tuple(shape))
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self.broadcast(scalar, shape, dtype, ())
        return found

    def broadcast(
        self, operand: Any, shape: Sequence[int], dtype: Any, dimensions: Sequence[int]
    ) -> Any:
        """Builds ``stablehlo.broadcast_in_dim``."""
        return self.create(
            "stablehlo.broadcast_in_dim",
            mlir.tensor_type(shape, dtype),
            (operand,),
            {"broadcast_dimensions": mlir.i64_array(dimensions)},
        )

    def convert(self, operand: Any, shape: Sequence[int], dtype: Any) -> Any:
        """Builds ``stablehlo.convert`` to another dtype."""
        return self.create("stablehlo.convert", mlir.tensor_type(shape, dtype), (operand,))

    def reshape(self, operand: Any, shape: Sequence[int], dtype: Any) -> Any:
        return self.create("stablehlo.reshape", mlir.tensor_type(shape, dtype), (operand,))

    def compare(
        self, direction: str, left: Any, right: Any, shape: Sequence[int], dtype: Any
    ) -> Any:
        """Builds ``stablehlo.compare`` of two arrays of the given shape and dtype."""
        return self.create(
            "stablehlo.compare",
            mlir.tensor_type(shape, np.dtype(np.bool_)),
            (left, right),
            comparison_attributes(direction, dtype),
        )

    def call(
        self,
        symbol: str,
        result_types: Sequence[Any],
        operands: Sequence[Any],
        inlineable: bool = True,
    ) -> list[Any]:
        """Builds ``func.call`` of a function of this module.

        With ``inlineable=False``, the CPU compiler keeps the function as one of its own.
        """
        if self.platform_index is not None:
            operands = [self.platform_index, *operands]
        attributes = {"callee": mlir.symbol(symbol)}
        if not inlineable:
            hint = mlir.dictionary({"inlineable": mlir.string("false")})
            attributes["mhlo.frontend_attributes"] = hint
        return list(self.operation("func.call", result_types, operands, attributes).results)

    def custom_call(
        self, target: str, result_types: Sequence[Any], operands: Sequence[Any], **keywords: Any
    ) -> list[Any]:
        """Builds ``stablehlo.custom_call`` of a registered target; returns the results."""
        return list(self.custom_call_operation(target, result_types, operands, **keywords).results)

    def custom_call_operation(
        self, target: str, result_types: Sequence[Any], operands: Sequence[Any], **keywords: Any
    ) -> Any:
        """Builds ``stablehlo.custom_call`` of a registered target; returns the operation.

        For the keywords, see `custom_calls.custom_call_attributes`.
        """
        attrs = custom_call_attributes(target, len(result_types), **keywords)
        return self.operation("stablehlo.custom_call", result_types, operands, attrs)

    # ---- programs ----

    def lower(self, closed: ClosedOlympuspr, arguments: Sequence[Any]) -> list[Any]:
        """Emits a program's operations into this block, and returns the values of the results."""
        olympuspr = closed.jaxpr
        values: dict[Any, Any] = dict(zip(olympuspr.invars, arguments, strict=True))
        for var, constant in zip(olympuspr.constvars, closed.consts, strict=True):
            values[var] = self.constant_value(constant)
        outer_equation, outer_location, outer_callers = self.equation, self.location, self.callers
        if outer_equation is not None:
            self.callers = (outer_equation.source_info.traceback, outer_callers)
        prefix, locations, callers = self.name_prefix, _locations, self.callers
        rules = lowering_rules.rules
        special: dict[Any, Any] = {}
        if len(self.platforms) == 1:  # The table is filled by the first rule that is looked up.
            special = rules_for_platform(self.platforms[0]).rules
        explicit = self.module.mesh is not None and self.module.mesh.explicit_axes
        for equation in olympuspr.eqns:
            primitive = equation.primitive
            operands = []  # a comprehension would be a call for each equation in Python 3.11
            for atom in equation.invars:
                operands.append(self.literal(atom) if atom.__class__ is Literal else values[atom])
            self.equation = equation
            source = equation.source_info
            key = (source.traceback, primitive, source.name_stack, prefix, callers)
            self.location = locations.get(key) or _new_location(key)
            rule = special[primitive] if primitive in special else rules.get(primitive)
            if rule is None or len(self.platforms) > 1:
                rule = self.find_rule(primitive)
            try:
                results = rule(self, *operands, **equation.params)
            except Exception as error:
                add_line(error, primitive.name, equation.source_info)
                raise
            if explicit:
                results = lay_out(self, equation, results)
            if primitive.multiple_results:
                values.update(zip(equation.outvars, results, strict=True))
            else:
                values[equation.outvars[0]] = results
        results = [
            self.literal(atom) if atom.__class__ is Literal else values[atom]
            for atom in olympuspr.outvars
        ]
        self.equation, self.location, self.callers = outer_equation, outer_location, outer_callers
        return results

    def find_rule(self, primitive: Any) -> Any:
        """Returns the rule of a primitive for this program's platforms.

        Raises:
          MissingRuleError: the primitive has no rule for some of the platforms.
        """
        common = lowering_rules.find(primitive)
        rules = [rules_for_platform(name).find(primitive) or common for name in self.platforms]
        without = [name for name, rule in zip(self.platforms, rules, strict=True) if rule is None]
        if without:
            raise lowering_rules.missing(primitive, f"for platform {', '.join(without)}")
        known = [rule for rule in rules if rule is not None]
        if all(rule is known[0] for rule in known):
            return known[0]
        return rule_by_platform(known, self.platforms, primitive)

    def literal(self, literal: Any) -> Any:
        return self.scalar(literal.val, literal.aval.dtype)

    def constant_value(self, value: Any) -> Any:
        """Returns a constant of the program as a value of this block."""
        aval = get_aval(value)
        if is_token(aval):  # the constant is the token of effects that have already happened
            return self.create("stablehlo.create_token", mlir.token_type(), ())
        array = constant_handlers.get(type(value), np.asarray)(value)
        physical = mlir.physical_aval(aval)
        return self.constant(array, physical.dtype)

    def inline_function(
        self, fun: Callable[..., Any], operands: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Traces a function for the types of the equation's operands, and lowers it in place."""
        equation = self.equation
        # The types must not vary over manual axes, because these axes are unknown here and a loop
        # requires carries of the same type.
        avals = tuple(mlir.unvarying(atom.aval) for atom in equation.invars)
        cache = self.module._expanded
        key = (fun, avals, tuple(params.items()))
        try:
            closed = cache.get(key)
        except TypeError:  # a parameter of another library's primitive may be unhashable
            key, closed = object(), None
        if closed is None:
            closed = cache[key] = trace_to_closed(
                lambda *args: pytrees.tree_leaves(fun(*args, **params)), avals
            )
            closed.memo[_USED] = False
        if closed.memo[_USED] and self._is_worth_a_function(closed):
            results = self.call_separately(closed, equation.primitive.name, operands)
        else:
            closed.memo[_USED] = True
            results = self.lower(closed, operands)
        return results if equation.primitive.multiple_results else results[0]

    def _is_worth_a_function(self, closed: ClosedOlympuspr) -> bool:
        """Returns whether later uses of an expansion should call one function.

        The CPU compiler then compiles the function only once. It does not fuse the function with
        the users of its results, so the results must be small enough to stay in caches.
        """
        return (
            self.platforms == ("cpu",)
            and _size(closed.jaxpr) >= _FEWEST_EQUATIONS_OF_A_FUNCTION
            and not any(mlir.has_symbolic(aval.shape) for aval in closed.out_avals)
            and all(aval.size <= _LARGEST_RESULT_OF_A_FUNCTION for aval in closed.out_avals)
        )

    def call_separately(
        self, closed: ClosedOlympuspr, name: str, operands: Sequence[Any]
    ) -> list[Any]:
        """Calls a program as a function that the CPU compiler does not inline.

        Args:
          closed: a program without effects.
          name: the function's name.
          operands: the operands.
        """
        symbol = self.module.function_for((id(closed), name), name, closed, IN_FUNCTIONS, ())
        result_types = [mlir.aval_type(aval) for aval in closed.out_avals]
        return self.call(symbol, result_types, operands, inlineable=False)


def _size(olympuspr: Olympuspr) -> int:
    """Returns the number of equations of a program, including nested programs."""
    inner = map(_size, subolympusprs(olympuspr))
    return len(olympuspr.eqns) + sum(inner)


# Marks expansions that a module has already inlined once.
_USED = "used"
_FEWEST_EQUATIONS_OF_A_FUNCTION = 64
_LARGEST_RESULT_OF_A_FUNCTION = 1 << 16


# Conversions of constants that hold arrays, such as typed keys, to NumPy arrays.
constant_handlers: dict[type, Callable[[Any], np.ndarray]] = {
    ExtendedArray: lambda array: np.asarray(array.physical)
}


# Locations by (traceback, primitive, name stack, prefix, callers). The dictionary is emptied when
# it is large, because tracebacks keep code objects alive.
_locations = mlir.locations


def _new_location(key: Any) -> Any:
    traceback, primitive, name_stack, prefix, callers = key
    names = (prefix, name_stack_text(name_stack), primitive.name)
    name = "/".join(filter(None, names))
    if len(_locations) > 65536:
        _locations.clear()
    location = _locations[key] = mlir.traceback_location(traceback, name, callers)
    return location


def is_token(aval: Any) -> bool:
    return isinstance(aval, AbstractToken)


def program_key(value: Any) -> Any:
    """Returns a key for an olympuspr by identity. The module must keep the program alive."""
    return id(value.jaxpr) if isinstance(value, ClosedOlympuspr) else id(value)

# SPDX-License-Identifier: Apache-2.0
"""Contexts in JAX's form, for lowering rules of other libraries.

A rule of this package is called as ``rule(context, *operands, **params)`` with a `LoweringContext`
of a block and its equation. A rule of another library gets a `LoweringRuleContext`. This context
stores the types, and its method ``replace`` returns a copy with other types. The rule builds at
MLIR's current insertion point. `lowering_context` converts the rule's context to the
`LoweringContext` of the block.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, Union

from olympus_ir.diagnostics.name_stacks import NameStack
from olympus_ir.diagnostics.source_info import SourceInfo
from olympus_ir.programs.olympuspr import Equation, Var, no_context
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types.effects import ordered_effects
from olympus_ir.types.placement import AbstractMesh

from ....platforms import backends
from .. import mlir
from ..context import LoweringContext, ModuleLowering
from ..mlir import ir

__all__ = [
    "AxisContext",
    "LoweringParameters",
    "LoweringResult",
    "LoweringRuleContext",
    "ModuleContext",
    "SPMDAxisContext",
    "ShapePolyLoweringState",
    "ShardingContext",
    "TokenSet",
    "enclosing_context",
    "lowering_context",
]


# ---- the devices of a program ----


@dataclasses.dataclass(frozen=True, slots=True)
class SPMDAxisContext:
    """Context of code that each device runs: the body of `shard_map`.

    Attributes:
      mesh: the mesh.
      manual_axes: the manual axes.
    """

    mesh: Any
    manual_axes: frozenset = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class ShardingContext:
    """Context of a program that the compiler partitions.

    Attributes:
      num_devices: the number of devices.
      device_assignment: the devices in order; None if they are not known.
      abstract_mesh: the mesh of operands and results; None if there is none.
    """

    num_devices: int
    device_assignment: tuple[Any, ...] | None = None
    abstract_mesh: Any = None


AxisContext: TypeAlias = Union[SPMDAxisContext, ShardingContext]  # noqa: UP007 - what is shown


# ---- options and results of lowering ----


@dataclasses.dataclass(frozen=True, slots=True)
class LoweringParameters:
    """Options of the lowering of a module.

    Attributes:
      override_lowering_rules: pairs of a primitive and a rule to use in place of the primitive's
        own rule.
      global_constant_computation: has no effect.
      for_export: whether later versions must be able to read the module.
      export_ignore_forward_compatibility: whether an exported module may use new features.
      hoist_constants_as_args: has no effect.
    """

    override_lowering_rules: tuple[tuple[Primitive, Any], ...] | None = None
    global_constant_computation: bool = False
    for_export: bool = False
    export_ignore_forward_compatibility: bool = False
    hoist_constants_as_args: bool = False


class LoweringResult(NamedTuple):
    """A module and the objects that must live as long as its executable.

    Attributes:
      module: the MLIR module.
      keepalive: objects to which the program refers.
      host_callbacks: the Python functions that the program calls.
      shape_poly_state: the state of symbolic dimensions and platforms.
    """

    module: Any
    keepalive: Any | None
    host_callbacks: list[Any]
    shape_poly_state: ShapePolyLoweringState


class ShapePolyLoweringState:
    """State of the operands that a module's functions take before the program's operands.

    Args:
      dim_vars: the names of the symbolic dimensions, whose sizes are operands.
      lowering_platforms: the platforms; if there are several, the first operand is the index of the
        actual platform.
    """

    def __init__(
        self, dim_vars: tuple[str, ...], lowering_platforms: tuple[str, ...] | None
    ) -> None:
        self.has_platform_index_argument = (
            lowering_platforms is not None and len(lowering_platforms) > 1
        )
        self.dim_vars = (
            ("_platform_index", *dim_vars) if self.has_platform_index_argument else tuple(dim_vars)
        )
        self.uses_dim_vars = bool(dim_vars)


# ---- tokens ----


class TokenSet:
    """Immutable record of the current token of each ordered effect.

    Args:
      tokens: a mapping from each effect to its token, an MLIR value.
    """

    __slots__ = ("_tokens",)

    def __init__(self, tokens: Mapping[Any, Any] | Sequence[tuple[Any, Any]] = ()) -> None:
        self._tokens: dict[Any, Any] = dict(tokens)

    @classmethod
    def create(cls, effects: Sequence[Any]) -> TokenSet:
        """Makes new tokens at the current insertion point."""
        return cls({effect: _new_token() for effect in effects})

    def __len__(self) -> int:
        return len(self._tokens)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._tokens)

    def get(self, effect: Any) -> Any:
        """Returns the token of an effect."""
        return self._tokens[effect]

    def items(self) -> tuple[tuple[Any, Any], ...]:
        """Returns pairs of an effect and its token."""
        return tuple(self._tokens.items())

    def effects(self) -> set[Any]:
        """Returns the effects."""
        return set(self._tokens)

    def subset(self, effects: Any) -> TokenSet:
        """Returns the tokens of some of the effects."""
        return TokenSet({effect: self._tokens[effect] for effect in effects})

    def update_tokens(self, tokens: TokenSet) -> TokenSet:
        """Returns a copy with the tokens of some effects replaced."""
        return TokenSet({**self._tokens, **tokens._tokens})

    def __repr__(self) -> str:
        return f"TokenSet({self._tokens})"


def _new_token() -> Any:
    return ir.Operation.create(
        "stablehlo.create_token", results=[mlir.token_type()], infer_type=False
    ).result


# ---- modules ----


class ModuleContext:
    """Context of one module, in JAX's form.

    Attributes:
      lowering: the `ModuleLowering` of the module.
      context: the MLIR context.
      module: the MLIR module.
      ip: the end of the module's body.
      symbol_table: the module's functions by name.
      platforms: the platforms for which the module is lowered.
      backend: the client of the devices; None if only the platform is known.
      axis_context: the context of the devices.
      keepalives: objects that must live as long as the executable.
      channel_iterator: an iterator over the ids of channels between devices.
      host_callbacks: the Python functions that the program calls.
      lowering_parameters: choices about the lowering.
      shape_poly_state: the state of symbolic dimensions and platforms.
      all_default_mem_kind: whether all operands and results are in their devices' default memory.

    Attributes whose names contain "cache" are dictionaries that rules may use.
    """

    __slots__ = (
        "_axis_context",
        "_module_lowering",
        "_symbol_table",
        "all_default_mem_kind",
        "aval_to_ir_types_cache",
        "backend",
        "cached_primitive_lowerings",
        "channel_iterator",
        "context",
        "host_callbacks",
        "ip",
        "keepalives",
        "lowering_cache",
        "lowering_parameters",
        "module",
        "pallas_lowering_cache",
        "platforms",
        "shape_poly_state",
        "sharding_attr_cache",
        "traceback_caches",
    )

    def __init__(
        self,
        *,
        platforms: Sequence[str],
        backend: Any,
        axis_context: Any,
        keepalives: list[Any],
        channel_iterator: Iterator[int],
        host_callbacks: list[Any],
        lowering_parameters: LoweringParameters,
        context: Any = None,
        module: Any = None,
        ip: Any = None,
        symbol_table: Any = None,
        lowering_cache: dict[Any, Any] | None = None,
        cached_primitive_lowerings: dict[Any, Any] | None = None,
        traceback_caches: Any = None,
        shape_poly_state: ShapePolyLoweringState | None = None,
        all_default_mem_kind: bool = True,
        sharding_attr_cache: dict[Any, Any] | None = None,
        aval_to_ir_types_cache: dict[Any, Any] | None = None,
        pallas_lowering_cache: dict[Any, Any] | None = None,
        _lowering: ModuleLowering | None = None,
    ) -> None:
        if _lowering is None:
            _lowering = ModuleLowering("module", platforms)
            _lowering.keep_alive = keepalives
            _lowering.host_callbacks = host_callbacks
            if module is not None:
                _lowering.module = module
                _lowering.body = ir.InsertionPoint(module.body)
        self._module_lowering = _lowering
        self.context = mlir.context() if context is None else context
        self.module = _lowering.module
        self.ip = _lowering.body if ip is None else ip
        self._symbol_table = symbol_table
        self.platforms = tuple(platforms)
        self.backend = backend
        self._axis_context = axis_context
        self.keepalives = keepalives
        self.channel_iterator = channel_iterator
        self.host_callbacks = host_callbacks
        self.lowering_parameters = lowering_parameters
        self.lowering_cache = {} if lowering_cache is None else lowering_cache
        self.cached_primitive_lowerings = (
            {} if cached_primitive_lowerings is None else cached_primitive_lowerings
        )
        self.traceback_caches = {} if traceback_caches is None else traceback_caches
        self.shape_poly_state = shape_poly_state or ShapePolyLoweringState((), tuple(platforms))
        self.all_default_mem_kind = all_default_mem_kind
        self.sharding_attr_cache = {} if sharding_attr_cache is None else sharding_attr_cache
        self.aval_to_ir_types_cache = (
            {} if aval_to_ir_types_cache is None else aval_to_ir_types_cache
        )
        self.pallas_lowering_cache = {} if pallas_lowering_cache is None else pallas_lowering_cache

    @classmethod
    def of(cls, lowering: ModuleLowering) -> ModuleContext:
        """Returns the context, in JAX's form, of a module during lowering."""
        return cls(
            platforms=lowering.platforms,
            backend=None,
            axis_context=None,
            keepalives=lowering.keep_alive,
            channel_iterator=iter(lowering.new_channel, None),
            host_callbacks=lowering.host_callbacks,
            lowering_parameters=LoweringParameters(),
            _lowering=lowering,
        )

    @property
    def symbol_table(self) -> Any:
        """The module's functions by name."""
        if self._symbol_table is None:
            self._symbol_table = ir.SymbolTable(self.module.operation)
        return self._symbol_table

    @property
    def axis_context(self) -> AxisContext:
        """The context of the program's devices, or of the region that is being lowered."""
        if self._axis_context is not None:
            return self._axis_context
        lowering = self._module_lowering
        axes, mesh = lowering.axis_context, lowering.mesh
        if axes is not None:
            if mesh is None or tuple(mesh.axis_names) != axes.axis_names:
                mesh = AbstractMesh(axes.axis_sizes, axes.axis_names)
            return SPMDAxisContext(mesh, frozenset(axes.axis_names))
        return ShardingContext(
            lowering.num_partitions, abstract_mesh=getattr(mesh, "abstract_mesh", mesh)
        )

    def new_channel(self) -> int:
        """Returns the id of a new channel between devices."""
        return next(self.channel_iterator)

    def add_host_callback(self, host_callback: Any) -> None:
        """Adds a Python function that the executable calls."""
        self.host_callbacks.append(host_callback)

    def add_keepalive(self, keepalive: Any) -> None:
        """Keeps an object alive as long as the executable."""
        self.keepalives.append(keepalive)

    def get_backend(self, optional: bool = False) -> Any:
        """Returns the client of the devices.

        Args:
          optional: whether to return None if the program is lowered for several platforms.

        Raises:
          ValueError: the program is lowered for several platforms and ``optional`` is False.
        """
        if len(self.platforms) > 1:
            if optional:
                return None
            raise ValueError(
                "a program that is lowered for several platforms has no backend: "
                f"{', '.join(self.platforms)}"
            )
        platform = next(iter(self.platforms))
        return backends.get_backend(platform) if self.backend is None else self.backend

    def replace(self, **changes: Any) -> ModuleContext:
        """Returns a copy with some attributes changed."""
        names = [name for name in self.__slots__ if not name.startswith("_")]
        fields: dict[str, Any] = {name: getattr(self, name) for name in names}
        fields["axis_context"] = self._axis_context
        fields["symbol_table"] = self._symbol_table
        lowering = self._module_lowering if "module" not in changes else None
        return ModuleContext(**{**fields, **changes}, _lowering=lowering)


# ---- rules ----


@dataclasses.dataclass(slots=True)
class LoweringRuleContext:
    """Context of an equation for a lowering rule.

    Attributes:
      module_context: the module.
      name_stack: the names of the scopes around the equation.
      traceback: the lines of the user's program.
      primitive: the primitive.
      avals_in: the operands' types.
      avals_out: the results' types.
      tokens_in: the tokens of the equation's ordered effects.
      tokens_out: the tokens after the equation; the rule of a primitive with ordered effects sets
        them.
      const_lowering: the constants that have already been built, for `ir_constant`.
      axis_size_env: the sizes of named axes.
      dim_var_values: the sizes of symbolic dimensions.
      jaxpr_eqn_ctx: the context in which the equation was recorded.
      platforms: the platforms to lower for.
    """

    module_context: ModuleContext
    name_stack: NameStack
    traceback: Any
    primitive: Primitive | None
    avals_in: Sequence[Any]
    avals_out: Any
    tokens_in: TokenSet
    tokens_out: TokenSet | None
    const_lowering: dict[Any, Any]
    axis_size_env: dict[Any, Any] | None = None
    dim_var_values: Sequence[Any] = ()
    jaxpr_eqn_ctx: Any = None
    platforms: Sequence[str] | None = None
    _block: LoweringContext | None = None

    def replace(self, **changes: Any) -> LoweringRuleContext:
        """Returns a copy with some attributes changed."""
        return dataclasses.replace(self, **changes)

    def set_tokens_out(self, tokens_out: TokenSet) -> None:
        """Sets the tokens of the equation's ordered effects after the equation."""
        if self.tokens_out is not None:
            raise ValueError("the tokens that follow the equation have been set already")
        self.tokens_out = tokens_out

    def is_forward_compat(self) -> bool:
        """Returns whether the module must be readable by older versions."""
        parameters = self.module_context.lowering_parameters
        return parameters.for_export and not parameters.export_ignore_forward_compatibility

    @classmethod
    def of(cls, block: LoweringContext) -> LoweringRuleContext:
        """Returns the context, in JAX's form, of the equation that a block is lowering."""
        equation = block.equation
        source = equation.source_info
        names = NameStack(filter(None, (block.name_prefix, *source.name_stack)))
        effects = equation.effects and ordered_effects.filter_in(equation.effects)
        return cls(
            module_context=ModuleContext.of(block.module),
            name_stack=names,
            traceback=source.traceback,
            primitive=equation.primitive,
            avals_in=tuple(block.avals_in),
            avals_out=block.avals_out,
            tokens_in=TokenSet({effect: block.tokens[effect] for effect in effects or ()}),
            tokens_out=None,
            const_lowering={},
            dim_var_values=getattr(block, "dimension_values", ()),
            jaxpr_eqn_ctx=equation.ctx,
            platforms=block.platforms,
            _block=block,
        )


def lowering_context(context: Any) -> LoweringContext:
    """Returns the context of the current block, with the equation of a rule's context.

    Args:
      context: the context of a rule or of a module. The context of a block is returned unchanged.
    """
    if isinstance(context, ModuleContext):
        return enclosing_context(context, "")
    if not isinstance(context, LoweringRuleContext):
        return context
    block = enclosing_context(context.module_context, str(context.name_stack))
    outer = context._block
    if outer is not None:
        block.location, block.platform_index = outer.location, outer.platform_index
    if context.platforms is not None:
        block.platforms = tuple(context.platforms)
    block.tokens = dict(context.tokens_in.items())
    block.equation = Equation(
        [Var(aval) for aval in context.avals_in],
        [Var(aval) for aval in context.avals_out or ()],
        context.primitive or _unnamed,
        {},
        frozenset(context.tokens_in),
        SourceInfo(context.traceback, NameStack()),
        no_context,
    )
    return block


_unnamed = Primitive("lowered")
_unnamed.multiple_results = True


def enclosing_context(module: ModuleContext, name_prefix: str) -> LoweringContext:
    """Returns a context that builds at MLIR's current insertion point."""
    insertion_point = ir.InsertionPoint.current
    block = module._module_lowering.new_context(insertion_point.block, name_prefix)
    block.insertion_point = insertion_point
    block.platforms = module.platforms
    if len(module.platforms) > 1:
        block.platform_index = (
            _function_around(insertion_point.block).regions[0].blocks[0].arguments[0]
        )
    return block


def _function_around(block: Any) -> Any:
    operation = block.owner.operation
    for _ in itertools.count():
        if operation.name == "func.func":
            return operation
        operation = operation.parent.operation
    raise ValueError("the insertion point is in no function")

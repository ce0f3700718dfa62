# SPDX-License-Identifier: Apache-2.0
"""Ahead-of-time compilation in stages: traced, lowered, compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import pytrees
from olympus_ir.avals import get_aval
from olympus_ir.jit import JitOptions, TracedProgram, trace_call
from olympus_ir.shape_struct import ShapeDtypeStruct

from . import compilation
from .lowering import mlir
from .placement import Placement, committed_sharding, resolve_placement


class Stage:
    """What all stages know: the structures of arguments and results."""

    __slots__ = ("_in_tree", "_program")

    _in_tree: Any
    _program: TracedProgram

    @property
    def in_tree(self) -> Any:
        """The structure of ``(args, kwargs)``."""
        return self._in_tree

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self._program.out_tree

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, in their structure."""
        return pytrees.tree_unflatten(self._in_tree, self._program.closed.in_avals)

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the results, in their structure."""
        structs = [
            ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
            for aval in self._program.closed.out_avals
        ]
        return pytrees.tree_unflatten(self._program.out_tree, structs)


class Traced(Stage):
    """A function traced for given types of arguments."""

    __slots__ = ("_options", "_shardings")

    def __init__(
        self, program: TracedProgram, options: JitOptions, in_tree: Any, shardings: Sequence[Any]
    ) -> None:
        self._program = program
        self._options = options
        self._in_tree = in_tree
        # Where the operands are, or will be.
        self._shardings = shardings

    @property
    def jaxpr(self) -> Any:
        """The program."""
        return self._program.closed

    olympuspr = jaxpr

    @property
    def fun_name(self) -> str:
        return self._program.params["name"]

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Lowers the program to StableHLO.

        Args:
          lowering_platforms: the platforms to lower for, which need not be present; the default
            device's where not given.
        """
        placement = resolve_placement(self._options, self._program, self._shardings)
        if lowering_platforms is None:
            lowering_platforms = (compilation.platform_of(placement.devices[0]),)
        lowered = compilation.lower(
            self._program.closed,
            name=self.fun_name,
            platforms=tuple(lowering_platforms),
            donated=self._program.params["donated_invars"],
            keep_unused=self._options.keep_unused,
            placement=placement,
        )
        return Lowered(self, lowered, placement)


class Lowered(Stage):
    """A program lowered to StableHLO."""

    __slots__ = ("_lowered", "_placement", "_traced")

    def __init__(
        self, traced: Traced, lowered: compilation.Lowered, placement: Placement
    ) -> None:
        self._placement = placement
        self._traced = traced
        self._program = traced._program
        self._in_tree = traced._in_tree
        self._lowered = lowered

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The module as text.

        Args:
          dialect: ``"stablehlo"``, the default, or ``"hlo"``.
          debug_info: whether to show source positions.
        """
        if dialect in (None, "stablehlo"):
            return self._lowered.module.operation.get_asm(enable_debug_info=debug_info)
        if dialect == "hlo":
            return self.compiler_ir("hlo").as_hlo_text()
        raise ValueError(f"dialect must be 'stablehlo' or 'hlo', got {dialect!r}")

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The module as an object: an MLIR module, or an XLA computation for ``"hlo"``."""
        if dialect in (None, "stablehlo"):
            return self._lowered.module
        if dialect == "hlo":
            from ._jaxlib import xla_computation  # loads nothing, but is rarely wanted

            return xla_computation(mlir.bytecode(self._lowered.module))
        raise ValueError(f"dialect must be 'stablehlo' or 'hlo', got {dialect!r}")

    def compile(self, compiler_options: dict[str, Any] | None = None) -> CompiledStage:
        """Compiles the module for the devices of its operands, or the default one."""
        options = {**dict(self._traced._options.compiler_options), **(compiler_options or {})}
        platform = compilation.platform_of(self._placement.devices[0])
        if platform not in self._lowered.platforms:
            raise ValueError(
                f"the program was lowered for {', '.join(self._lowered.platforms)} and cannot be "
                f"compiled for {platform}"
            )
        compiled = compilation.compile_lowered(
            self._lowered, self._placement, compiler_options=options
        )
        return CompiledStage(self._traced, compiled)


class CompiledStage(Stage):
    """An executable for given types of arguments; called like the function."""

    __slots__ = ("_compiled", "_options")

    def __init__(self, traced: Traced, compiled: compilation.Compiled) -> None:
        self._program = traced._program
        self._options = traced._options
        self._in_tree = traced._in_tree
        self._compiled = compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._options.static_argnums or self._options.static_argnames:
            static = set(self._options.static_argnums)
            args = tuple(arg for position, arg in enumerate(args) if position not in static)
            kwargs = {
                name: value
                for name, value in kwargs.items()
                if name not in self._options.static_argnames
            }
        leaves, in_tree = pytrees.tree_flatten((args, kwargs))
        if in_tree != self._in_tree:
            raise TypeError(
                "Function compiled with input pytree does not match the input pytree it was called "
                f"with: compiled for {self._in_tree}, called with {in_tree}."
            )
        for position, (leaf, aval) in enumerate(
            zip(leaves, self._program.closed.in_avals, strict=True)
        ):
            given = get_aval(leaf)
            if given.shape != aval.shape or given.dtype != aval.dtype:
                raise TypeError(
                    "Argument types differ from the types for which this computation was compiled: "
                    f"argument {position} was {aval.str_short()} and is {given.str_short()}."
                )
        return pytrees.tree_unflatten(self._program.out_tree, self._compiled.call(leaves))

    def as_text(self) -> str:
        """The optimised program as HLO text."""
        modules = self._compiled.executable.loaded.hlo_modules()
        return "\n\n".join(module.to_string() for module in modules)

    def cost_analysis(self) -> dict[str, float]:
        """Estimates such as ``flops`` and ``bytes accessed``."""
        return dict(self._compiled.executable.loaded.cost_analysis())

    def memory_analysis(self) -> Any:
        """Sizes in bytes of arguments, results, temporaries and code."""
        return self._compiled.executable.loaded.get_compiled_memory_stats()

    def runtime_executable(self) -> Any:
        """jaxlib's executable."""
        return self._compiled.executable.loaded


def trace(fun: Callable[..., Any], options: JitOptions, args: tuple, kwargs: dict) -> Traced:
    """Traces a function for arrays or `ShapeDtypeStruct`s."""
    program, leaves = trace_call(fun, options, args, kwargs)
    static = set(options.static_argnums)
    dynamic = tuple(arg for position, arg in enumerate(args) if position not in static)
    keywords = {n: v for n, v in kwargs.items() if n not in options.static_argnames}
    in_tree = pytrees.tree_structure((dynamic, keywords))
    return Traced(program, options, in_tree, [committed_sharding(leaf) for leaf in leaves])

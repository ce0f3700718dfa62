# SPDX-License-Identifier: Apache-2.0
"""Ahead-of-time compilation in stages: traced, lowered, compiled.

``jit(f).trace(*args)`` returns a `Traced`. Its ``lower()`` returns a `Lowered`, whose ``compile()``
returns a `Compiled`. A `Compiled` is called like ``f``, with arguments of the types that it was
compiled for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from olympus_ir.diagnostics import reports
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.loading import deferred
from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.calls.tracing import trace_call
from olympus_ir.programs.tracing import Tracer, escaped_tracer_error
from olympus_ir.trees import pytrees
from olympus_ir.types.shape_struct import ShapeDtypeStruct

from .._jaxlib import hlo_module_cost_analysis, hlo_text_with_origins, xla_computation
from ..arrays.layouts import Format, Layout
from ..compiling import compile_report
from ..compiling.lowering import mlir
from ..compiling.lowering.lowered import Lowered as LoweredModule
from ..compiling.placement.placements import Placement, platform_of
from ..compiling.placement.requests import requested_device, requested_out_shardings
from ..compiling.placement.resolution import committed_sharding, resolve_placement
from . import compiled as compiled_programs
from .compiled_call import make_compiled_call
from .program_executables import staged_module

if TYPE_CHECKING:
    from . import serialized
else:
    serialized = deferred(".serialized", milliseconds=3.0)

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]

CompilerOptions: TypeAlias = dict[str, str | bool]

_DIALECTS = ("stablehlo", "hlo")


@runtime_checkable
class Wrapped(Protocol):
    """Protocol of the functions that `jit` returns: they can be traced, lowered and compiled."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function, which is compiled for the types of the arguments."""
        ...

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Traces the function for the types of the given arguments."""
        ...

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Traces and lowers the function for the types of the given arguments."""
        ...


class ArgInfo:
    """Description of an argument.

    Attributes:
      shape: the argument's shape.
      dtype: the argument's dtype.
      donated: whether results may reuse the argument's memory.
    """

    __slots__ = ("_aval", "donated")

    def __init__(self, _aval: Any, donated: bool) -> None:
        self._aval = _aval
        self.donated = donated

    @property
    def shape(self) -> tuple[int, ...]:
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        return self._aval.dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArgInfo) and (self._aval, self.donated) == (
            other._aval,
            other.donated,
        )

    def __hash__(self) -> int:
        return hash((self._aval, self.donated))

    def __repr__(self) -> str:
        return f"ArgInfo(_aval={self._aval!r}, donated={self.donated})"


class Stage:
    """Base class of the stages, with the types and structures of arguments and results."""

    __slots__ = ("_in_tree", "_program")

    _in_tree: Any
    _program: TracedProgram

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a {type(self).__name__} refers to the Python function that was traced, and cannot be "
            "pickled. Pickle the result of its `compile()`, for machines of this kind; export the "
            "function for any other"
        )

    def _repr_html_(self) -> str | None:
        """Returns a report on the stage for notebooks; None if no installed package makes one."""
        return reports.html_of(self)

    @property
    def in_tree(self) -> Any:
        """The structure of ``(args, kwargs)``, without static arguments."""
        return self._in_tree

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self._program.out_tree

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, in the structure of the arguments."""
        return pytrees.tree_unflatten(self._in_tree, self._program.closed.in_avals)

    @property
    def args_info(self) -> Any:
        """An `ArgInfo` for each argument, in the structure of the arguments."""
        infos = map(ArgInfo, self._program.closed.in_avals, self._program.params["donated_invars"])
        return pytrees.tree_unflatten(self._in_tree, list(infos))

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions of the donated flat arguments."""
        donated = self._program.params["donated_invars"]
        return tuple(position for position, is_donated in enumerate(donated) if is_donated)


@boundary_class
class Traced(Stage):
    """A function traced for given types of arguments."""

    __slots__ = ("_layouts", "_options", "_shardings")

    def __init__(
        self, program: TracedProgram, options: JitOptions, in_tree: Any, shardings: Sequence[Any]
    ) -> None:
        self._program = program
        self._options = options
        self._in_tree = in_tree
        # The shardings of committed operands.
        self._shardings = shardings
        self._layouts: tuple = ()

    @property
    def jaxpr(self) -> Any:
        """The program."""
        return self._program.closed

    olympuspr = jaxpr

    @property
    def lojax(self) -> Traced:
        """The stage itself, whose program uses arrays only."""
        return self

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._program.params["name"]

    @property
    def out_avals(self) -> Any:
        """The types of the results, in the structure of the result."""
        return pytrees.tree_unflatten(self._program.out_tree, self._program.closed.out_avals)

    @property
    def out_info(self) -> Any:
        """Shapes, dtypes, weak types and known shardings, in the structure of the result."""
        shardings = requested_out_shardings(self._options, self._program)
        structs = [
            aval
            if getattr(aval, "is_high", False)
            else ShapeDtypeStruct(
                aval.shape,
                aval.dtype,
                weak_type=aval.weak_type,
                sharding=aval.layout if sharding is None else sharding,
            )
            for aval, sharding in zip(self._program.closed.out_avals, shardings, strict=True)
        ]
        return pytrees.tree_unflatten(self._program.out_tree, structs)

    @property
    def _compiled_program(self) -> TracedProgram:
        """The program to compile, which has only arrays and no references."""
        return self._program.array_program()

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Lowers the program to StableHLO.

        Args:
          lowering_platforms: the platforms to lower for, such as ``("cpu", "cuda", "tpu")``. They
            need not be available. The default is the platform of the program's devices. A program
            for several platforms takes the index of the platform as its first operand.

        Raises:
          TypeError: ``lowering_platforms`` is not a sequence of strings.
          ValueError: ``lowering_platforms`` is empty.
        """
        placement = resolve_placement(self._options, self._compiled_program, self._shardings)
        if self._layouts and not placement.in_layouts:
            placement = placement.with_layouts(self._layouts, placement.out_layouts)
        if lowering_platforms is None:
            platforms = (platform_of(placement.devices[0]),)
        else:
            platforms = check_platforms(lowering_platforms, "lowering_platforms")
        return Lowered(self, self._lower_for(platforms, placement), placement)

    def _lower_for(self, platforms: tuple[str, ...], placement: Placement) -> LoweredModule:
        return staged_module(self._compiled_program, platforms, placement, self._options)


def check_platforms(platforms: Sequence[str], caller: str) -> tuple[str, ...]:
    """Returns the names of platforms as a tuple.

    Raises:
      TypeError: ``platforms`` is not a sequence of strings.
      ValueError: ``platforms`` is empty.
    """
    if isinstance(platforms, str) or not all(isinstance(each, str) for each in platforms):
        raise TypeError(
            f"{caller} must be a sequence of platforms' names such as ('cpu', 'cuda'), got "
            f"{platforms!r}"
        )
    if not platforms:
        raise ValueError(f"{caller} is empty; name at least one platform, or pass None")
    return tuple(dict.fromkeys(platforms))


def _strong(info: Any) -> Any:
    return info.update(weak_type=False) if type(info) is ShapeDtypeStruct else info


@boundary_class
class Lowered(Stage):
    """A program lowered to StableHLO."""

    __slots__ = ("_lowered", "_placement", "_traced")

    @property
    def out_info(self) -> Any:
        """Shapes, dtypes and known shardings, in the structure of the result."""
        return pytrees.tree_map(_strong, self._traced.out_info)

    def __init__(self, traced: Traced, lowered: LoweredModule, placement: Placement) -> None:
        self._placement = placement
        self._traced = traced
        self._program = traced._program
        self._in_tree = traced._in_tree
        self._lowered = lowered

    def with_in_tree(self, in_tree: Any) -> Lowered:
        """Returns a stage with another structure of the arguments.

        Args:
          in_tree: the structure of ``(args, kwargs)``; its leaves are the flat arguments of this
            program.

        Example:
          >>> from olympus_ir.programs.jit import jit
          >>> from olympus_ir.trees import pytrees
          >>> lowered = jit(lambda x, y: x - y).lower(1.0, 2.0)
          >>> tree = pytrees.tree_structure((({"x": 0, "y": 0},), {}))
          >>> lowered.with_in_tree(tree).compile()({"x": 1.0, "y": 2.0})
          Array(-1., dtype=float32, weak_type=True)
        """
        known = self._traced
        traced = Traced(known._program, known._options, in_tree, known._shardings)
        traced._layouts = known._layouts
        return Lowered(traced, self._lowered, self._placement)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Returns the module as text.

        Args:
          dialect: ``"stablehlo"``, the default, or ``"hlo"``, XLA's form before optimization.
          debug_info: whether to show source positions.

        Raises:
          ValueError: there is no such dialect.
        """
        if dialect is None or dialect == "stablehlo":
            with mlir.lowering_lock:
                return self._lowered.module.operation.get_asm(enable_debug_info=debug_info)
        computation = self.compiler_ir(dialect)
        return hlo_text_with_origins(computation) if debug_info else computation.as_hlo_text()

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Returns the module as an object.

        Args:
          dialect: ``"stablehlo"``, the default, for an MLIR module, or ``"hlo"`` for an XLA
            computation, whose ``as_serialized_hlo_module_proto()`` other runtimes can read.

        Raises:
          ValueError: there is no such dialect.
        """
        if dialect is None or dialect == "stablehlo":
            return mlir.with_dialect_classes(self._lowered.module)
        if dialect == "hlo":
            return xla_computation(mlir.bytecode(self._lowered.module))
        raise ValueError(f"unknown dialect: {dialect}; there are {', '.join(_DIALECTS)}")

    def cost_analysis(self) -> dict[str, float]:
        """Estimates costs such as ``flops`` and ``bytes accessed``, before optimization.

        The body of a loop is counted once.
        """
        client = self._placement.devices[0].client
        return hlo_module_cost_analysis(client, self.compiler_ir("hlo"))

    def compile(
        self,
        compiler_options: CompilerOptions | None = None,
        *,
        device_assignment: Sequence[Any] | None = None,
    ) -> Compiled:
        """Compiles the module for the devices of its operands, or for the default device.

        Args:
          compiler_options: options of XLA by name, in addition to those of `jit`.
          device_assignment: the devices on which the program is expected to run. This argument is
            only compared with the devices of the operands and results.

        Raises:
          ValueError: the program was not lowered for the platform of its devices, or its devices
            are not ``device_assignment``.
        """
        options = {**dict(self._traced._options.compiler_options), **(compiler_options or {})}
        placement, lowered = self._placement, self._lowered
        if device_assignment is not None and tuple(device_assignment) != placement.devices:
            raise ValueError(
                "device_assignment passed to `.compile` must match the devices of the arguments' "
                f"shardings and of out_shardings. Got devices {list(device_assignment)}, and the "
                f"program is placed on {list(placement.devices)}."
            )
        platform = platform_of(placement.devices[0])
        if platform not in lowered.platforms:
            raise ValueError(
                f"the program was lowered for {', '.join(lowered.platforms)} and cannot be "
                f"compiled for {platform}; lower it with lowering_platforms=({platform!r},)"
            )
        if len(lowered.platforms) > 1:
            lowered = self._traced._lower_for((platform,), placement)
        compiled = compiled_programs.compile_lowered(
            lowered, placement, compiler_options=options, is_inspected=True
        )
        return Compiled(self._traced, compiled)


@boundary_class
class Compiled(Stage):
    """An executable for given types of arguments.

    Call it like the function, without the static arguments.
    """

    # A function object of jaxlib replaces the method ``__call__``, so calls do not enter Python.
    __slots__ = ("__call__", "_compiled")

    def __init__(self, traced: Traced, compiled: compiled_programs.Compiled) -> None:
        self._set(traced._program, traced._in_tree, compiled)

    def _set(
        self, program: TracedProgram, in_tree: Any, compiled: compiled_programs.Compiled
    ) -> None:
        self._program = program
        self._in_tree = in_tree
        self._compiled = compiled
        self.__call__ = make_compiled_call(program, in_tree, compiled)

    @classmethod
    def of_executable(
        cls, program: TracedProgram, in_tree: Any, compiled: compiled_programs.Compiled
    ) -> Compiled:
        """Returns the stage of a deserialized function.

        ``program`` has the function's types but no equations.
        """
        self = object.__new__(cls)
        self._set(program, in_tree, compiled)
        return self

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the executable, like calling the object."""
        return self.__call__(*args, **kwargs)

    def as_text(self) -> str:
        """Returns the optimized program as HLO text."""
        modules = self._compiled.executable.loaded.hlo_modules()
        return "\n\n".join(module.to_string() for module in modules)

    def cost_analysis(self) -> dict[str, float]:
        """Estimates costs such as ``flops`` and ``bytes accessed``."""
        return dict(self._compiled.executable.loaded.cost_analysis())

    def memory_analysis(self) -> Any:
        """Returns the sizes in bytes of arguments, results, temporaries and code."""
        return self._compiled.executable.loaded.get_compiled_memory_stats()

    def report(self) -> compile_report.CompileReport:
        """Reports changes that make the program compile faster, with source lines.

        The result prints as text. A deserialized function has no program to report on.

        Returns:
          A record with ``cuts``, the source lines whose values are kept in memory, and ``blocks``,
          the repeated blocks that became calls of one function.

        Raises:
          ValueError: the function was deserialized.

        Example:
          >>> import olympus
          >>> print(olympus.jit(lambda x: x + 1).lower(1.0).compile().report())
          <lambda>: 1 equations
          compiled as it is
        """
        if self._compiled.lowered.program is None:
            raise ValueError("a deserialized function has no program to report on")
        return compile_report.report_of(self._compiled.lowered)

    def __reduce__(self) -> Any:
        contents = serialized.serialized_bytes(self._program, self._compiled)
        return _loaded, (contents, self.in_tree, self.out_tree)

    def runtime_executable(self) -> Any:
        """Returns the executable, an object of jaxlib."""
        return self._compiled.executable.loaded

    # ---- placement of operands and results ----

    def _of_operands(self, kept_values: Sequence[Any], missing: Any) -> Any:
        """Arranges the operands' values in the structure of all arguments.

        Operands that the executable does not take get the value ``missing``.
        """
        values = iter(kept_values)
        flat = [next(values) if kept else missing for kept in self._compiled.lowered.kept]
        return pytrees.tree_unflatten(self._in_tree, flat)

    def _flat_input_shardings(self) -> Sequence[Any]:
        return self._compiled.executable.in_shardings[len(self._compiled.constants) :]

    @property
    def input_shardings(self) -> Any:
        """The arguments' shardings, in the arguments' structure; None for unused arguments."""
        return self._of_operands(self._flat_input_shardings(), None)

    @property
    def output_shardings(self) -> Any:
        """The shardings of the results, in the structure of the result."""
        shardings = self._compiled.executable.out_shardings
        return pytrees.tree_unflatten(self._program.out_tree, list(shardings))

    @property
    def input_formats(self) -> Any:
        """The layouts and shardings of the arguments, in the structure of the arguments."""
        skipped = len(self._compiled.lowered.ordered_effects) + len(self._compiled.constants)
        layouts = self._compiled.executable.loaded.get_parameter_layouts()[skipped:]
        formats = map(Format, map(Layout.from_pjrt_layout, layouts), self._flat_input_shardings())
        return self._of_operands(list(formats), Format())

    def _flat_output_formats(self) -> list[Format]:
        skipped = len(self._compiled.lowered.ordered_effects)
        layouts = self._compiled.executable.loaded.get_output_layouts()[skipped:]
        shardings = self._compiled.executable.out_shardings
        return list(map(Format, map(Layout.from_pjrt_layout, layouts), shardings))

    @property
    def output_formats(self) -> Any:
        """The layouts and shardings of the results, in the structure of the result."""
        return pytrees.tree_unflatten(self._program.out_tree, self._flat_output_formats())

    @property
    def out_info(self) -> Any:
        """Shapes, dtypes, shardings and layouts of the results, in the structure of the result."""
        structs = [
            ShapeDtypeStruct(aval.shape, aval.dtype, sharding=placed)
            for aval, placed in zip(
                self._program.closed.out_avals, self._flat_output_formats(), strict=True
            )
        ]
        return pytrees.tree_unflatten(self._program.out_tree, structs)


def _loaded(contents: bytes, in_tree: Any, out_tree: Any) -> Compiled:
    """Returns the compiled function that a pickle contains."""
    program, inner = serialized.load(contents, out_tree)
    return Compiled.of_executable(program, in_tree, inner)


def trace(fun: Callable[..., Any], options: JitOptions, args: tuple, kwargs: dict) -> Traced:
    """Traces a function for arguments that are arrays or `ShapeDtypeStruct`s."""
    requested_device(dict(options.placement))  # raises for an unknown backend
    program, leaves = trace_call(fun, options, args, kwargs, abstract=True)
    for value in program.hoisted:
        if isinstance(value, Tracer):
            raise escaped_tracer_error(
                value, f"was used by `{program.params['name']}`, traced ahead of time"
            )
    operands = program.placed_operands([*program.hoisted, *leaves])
    shardings = [committed_sharding(each) for each in operands]
    traced = Traced(program, options, program.in_tree, shardings)
    layouts = [each._layout if isinstance(each, ShapeDtypeStruct) else None for each in operands]
    if any(isinstance(layout, Layout) for layout in layouts):
        traced._layouts = tuple(layouts)
    return traced

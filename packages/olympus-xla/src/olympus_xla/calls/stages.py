# SPDX-License-Identifier: Apache-2.0
"""Ahead-of-time compilation in stages: traced, lowered, compiled.

``jit(f).trace(*args)`` returns a `Traced`. Its ``lower()`` returns a `Lowered`, whose ``compile()``
returns a `Compiled`. A `Compiled` is called like ``f``, with arguments of the types that it was
compiled for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from olympus_ir.diagnostics import reports
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.loading import deferred
from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.calls.tracing import trace_call
from olympus_ir.programs.tracing import Tracer, escaped_tracer_error
from olympus_ir.trees import pytrees
from olympus_ir.trees.operands import flatten_operands
from olympus_ir.trees.pytrees import PyTreeDef
from olympus_ir.types.placement import Device
from olympus_ir.types.shape_struct import ShapeDtypeStruct

from ..arrays.layouts import Layout
from ..compiling import compile_report
from ..compiling.lowering.lowered import Lowered as LoweredModule
from ..compiling.placement.placements import Placement, platform_of
from ..compiling.placement.requests import requested_device, requested_out_shardings
from ..compiling.placement.resolution import committed_sharding, resolve_placement
from . import compiled as compiled_programs
from .equation_params import options_of_params, program_of_params
from .program_executables import compiled_in_a_call, staged_module
from .staged_programs import FlatExecutable, Lowering

if TYPE_CHECKING:
    from . import serialized
else:
    serialized = deferred(".serialized", milliseconds=3.0)

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]

CompilerOptions: TypeAlias = dict[str, str | bool]


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


def args_info_of(in_tree: PyTreeDef, in_avals: Sequence[Any], donated: Sequence[bool]) -> Any:
    """Returns an `ArgInfo` for each argument, in the structure of the arguments."""
    return pytrees.tree_unflatten(in_tree, list(map(ArgInfo, in_avals, donated)))


class Stage:
    """Base class of the stages, with the types and structures of arguments and results.

    Attributes:
      args_info: an `ArgInfo` for each argument, in the structure of ``(args, kwargs)``, without
        static arguments.
      out_tree: the structure of the result.
    """

    __slots__ = ("args_info", "out_tree")

    args_info: Any
    out_tree: PyTreeDef

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
    def in_tree(self) -> PyTreeDef:
        """The structure of ``(args, kwargs)``, without static arguments."""
        return flatten_operands(self.args_info)[1]

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, in the structure of the arguments."""
        infos, tree = flatten_operands(self.args_info)
        return pytrees.tree_unflatten(tree, [info._aval for info in infos])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions of the donated flat arguments."""
        infos, _ = flatten_operands(self.args_info)
        return tuple(position for position, info in enumerate(infos) if info.donated)


@boundary_class
class Traced(Stage):
    """A function traced for given types of arguments.

    Args:
      meta_tys_flat: the types of the flat operands, which may be arrays, `ShapeDtypeStruct`s or
        `ShapedArray`s. The sharding and the layout of a `ShapeDtypeStruct` are those of the
        operand.
      params: the parameters of a `jit` equation: the program, its name, and the options of `jit`.
      in_tree: the structure of ``(args, kwargs)``.
      out_tree: the structure of the result.
      consts: the values of the first inputs of the program, which are no arguments.

    Example:
      >>> import olympus
      >>> from olympus import ShapeDtypeStruct, lax
      >>> scalar = ShapeDtypeStruct((), "float32")
      >>> (equation,) = olympus.make_olympuspr(olympus.jit(lax.sin))(scalar).eqns
      >>> structure = olympus.tree.structure(((scalar,), {}))
      >>> leaf = olympus.tree.structure(scalar)
      >>> traced = Traced([scalar], equation.params, structure, leaf, [])
      >>> traced.lower().compile()(0.0)
      Array(0., dtype=float32)
    """

    __slots__ = ("_layouts", "_options", "_program", "_shardings")

    def __init__(
        self,
        meta_tys_flat: Sequence[Any],
        params: dict[str, Any],
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
        consts: Sequence[Any],
    ) -> None:
        if len(meta_tys_flat) != in_tree.num_leaves:
            raise ValueError(
                f"`{params['name']}` has {in_tree.num_leaves} arguments, got the types of "
                f"{len(meta_tys_flat)}"
            )
        program = program_of_params(params, in_tree, out_tree, consts)
        options = options_of_params(params, in_tree, out_tree, len(consts))
        self._set(program, options, program.placed_operands([*consts, *meta_tys_flat]))

    def _set(self, program: TracedProgram, options: JitOptions, operands: Sequence[Any]) -> None:
        donated = program.params["donated_invars"][len(program.hoisted) :]
        operand_avals = program.closed.in_avals[len(program.hoisted) :]
        self.args_info = args_info_of(program.in_tree, operand_avals, donated)
        self.out_tree = program.out_tree
        self._program = program
        self._options = options
        # The shardings of committed operands.
        self._shardings = list(map(committed_sharding, operands))
        layouts = [
            operand._layout if type(operand) is ShapeDtypeStruct else None for operand in operands
        ]
        is_laid_out = any(isinstance(layout, Layout) for layout in layouts)
        self._layouts = tuple(layouts) if is_laid_out else ()

    @classmethod
    def of_program(
        cls, program: TracedProgram, options: JitOptions, operands: Sequence[Any]
    ) -> Traced:
        """Returns the stage of a traced call.

        Args:
          program: the program.
          options: the options of `jit`.
          operands: the values from which the program gets its placement.
        """
        self = object.__new__(cls)
        self._set(program, options, operands)
        return self

    @property
    def _params(self) -> dict[str, Any]:
        return self._program.params

    @property
    def _consts(self) -> list[Any]:
        return self._program.hoisted

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
        return pytrees.tree_unflatten(self.out_tree, self._program.closed.out_avals)

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
        return pytrees.tree_unflatten(self.out_tree, structs)

    @property
    def _compiled_program(self) -> TracedProgram:
        """The program to compile, which has only arrays and no references."""
        return self._program.array_program()

    def _compiled_in_a_call(self) -> Compiled | None:
        """Returns the stage of the executable that a call has compiled; None if none has."""
        placement = self._placement()
        found = compiled_in_a_call(self._compiled_program, placement)
        if found is None:
            return None
        return Compiled(FlatExecutable(self._program, found), [], self.args_info, self.out_tree)

    def _placement(self) -> Placement:
        placement = resolve_placement(self._options, self._compiled_program, self._shardings)
        if self._layouts and not placement.in_layouts:
            placement = placement.with_layouts(self._layouts, placement.out_layouts)
        return placement

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
        placement = self._placement()
        if lowering_platforms is None:
            platforms = (platform_of(placement.devices[0]),)
        else:
            platforms = check_platforms(lowering_platforms, "lowering_platforms")
        lowering = Lowering(self, self._lower_for(platforms, placement), placement)
        return Lowered(lowering, self.args_info, self.out_tree)

    def _lower_for(self, platforms: tuple[str, ...], placement: Placement) -> LoweredModule:
        return staged_module(self._compiled_program, platforms, placement, self._options)


def check_platforms(platforms: Sequence[str], caller: str) -> tuple[str, ...]:
    """Returns the names of platforms as a tuple.

    Raises:
      TypeError: ``platforms`` is not a sequence of strings.
      ValueError: ``platforms`` is empty.
    """
    names = () if isinstance(platforms, str) or not isinstance(platforms, Iterable) else platforms
    if names is not platforms or not all(isinstance(platform, str) for platform in names):
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
    """A program lowered to StableHLO.

    Args:
      lowering: the lowered program of flat operands, with the methods ``as_text``, ``compiler_ir``,
        ``cost_analysis`` and ``compile``, such as the attribute ``_lowering`` of another stage.
      args_info: an `ArgInfo` for each argument, in the structure of ``(args, kwargs)``. Its leaves
        are the flat operands.
      out_tree: the structure of the result.
      no_kwargs: whether calls accept only positional arguments.
      in_types: the types of the arguments, in their structure; by default those in ``args_info``.
      out_types: the types of the results, in their structure; by default those of the program.

    Example:
      >>> import olympus
      >>> lowered = olympus.jit(lambda x, y: x - y).lower(1.0, 2.0)
      >>> (x, y), _ = lowered.args_info
      >>> pair = Lowered(lowered._lowering, (((x, y),), {}), lowered.out_tree, no_kwargs=True)
      >>> pair.compile()((1.0, 2.0))
      Array(-1., dtype=float32, weak_type=True)
    """

    __slots__ = ("_in_types", "_lowering", "_no_kwargs", "_out_types")

    def __init__(
        self,
        lowering: Lowering,
        args_info: Any,
        out_tree: PyTreeDef,
        no_kwargs: bool = False,
        in_types: Any = None,
        out_types: Any = None,
    ) -> None:
        self._lowering = lowering
        self.args_info = args_info
        self.out_tree = out_tree
        self._no_kwargs = no_kwargs
        self._in_types = in_types
        self._out_types = out_types

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, in the structure of the arguments."""
        return super().in_avals if self._in_types is None else self._in_types

    @property
    def out_info(self) -> Any:
        """Shapes, dtypes and known shardings, in the structure of the result."""
        if self._out_types is not None:
            return pytrees.tree_map(_struct_of, self._out_types)
        infos = pytrees.tree_leaves(self._lowering.traced.out_info)
        return pytrees.tree_unflatten(self.out_tree, list(map(_strong, infos)))

    def with_in_tree(self, in_tree: PyTreeDef) -> Lowered:
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
        args_info = pytrees.tree_unflatten(in_tree, flatten_operands(self.args_info)[0])
        return Lowered(self._lowering, args_info, self.out_tree, self._no_kwargs)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Returns the module as text.

        Args:
          dialect: ``"stablehlo"``, the default, or ``"hlo"``, XLA's form before optimization.
          debug_info: whether to show source positions.

        Raises:
          ValueError: there is no such dialect.
        """
        return self._lowering.as_text(dialect, debug_info=debug_info)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Returns the module as an object.

        Args:
          dialect: ``"stablehlo"``, the default, for an MLIR module, or ``"hlo"`` for an XLA
            computation, whose ``as_serialized_hlo_module_proto()`` other runtimes can read.

        Raises:
          ValueError: there is no such dialect.
        """
        return self._lowering.compiler_ir(dialect)

    def cost_analysis(self) -> dict[str, float]:
        """Estimates costs such as ``flops`` and ``bytes accessed``, before optimization.

        The body of a loop is counted once.
        """
        return self._lowering.cost_analysis()

    def compile(
        self,
        compiler_options: CompilerOptions | None = None,
        *,
        device_assignment: Sequence[Device] | None = None,
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
        executable = self._lowering.compile(compiler_options, device_assignment=device_assignment)
        types = self._in_types, self._out_types
        return Compiled(executable, [], self.args_info, self.out_tree, self._no_kwargs, *types)


def _struct_of(aval: Any) -> Any:
    return ShapeDtypeStruct(aval.shape, aval.dtype)


@boundary_class
class Compiled(Stage):
    """An executable for given types of arguments.

    Call it like the function, without the static arguments.

    Args:
      executable: the executable of flat operands, such as the attribute ``_executable`` of another
        stage. It has the methods of `FlatExecutable`.
      const_args: the values of the first operands, which are no arguments.
      args_info: an `ArgInfo` for each argument, in the structure of ``(args, kwargs)``. Its leaves
        are the operands after ``const_args``.
      out_tree: the structure of the result.
      no_kwargs: whether calls accept only positional arguments.
      in_types: the types of the arguments, in their structure; by default those in ``args_info``.
      out_types: the types of the results, in their structure; by default those of the executable.

    Example:
      >>> import olympus
      >>> compiled = olympus.jit(lambda x, y: {"difference": x - y}).lower(1.0, 2.0).compile()
      >>> (_, y), _ = compiled.args_info
      >>> leaf = olympus.tree.structure(0)
      >>> from_ten = Compiled(compiled._executable, [10.0], ((y,), {}), leaf)
      >>> from_ten(2.0)
      Array(8., dtype=float32, weak_type=True)
    """

    # A function object replaces the method ``__call__``, so calls do not enter Python.
    __slots__ = (
        "__call__",
        "_const_args",
        "_executable",
        "_in_types",
        "_no_kwargs",
        "_out_types",
    )

    def __init__(
        self,
        executable: FlatExecutable,
        const_args: Sequence[Any],
        args_info: Any,
        out_tree: PyTreeDef,
        no_kwargs: bool = False,
        in_types: Any = None,
        out_types: Any = None,
    ) -> None:
        self._executable = executable
        self._const_args = list(const_args)
        self.args_info = args_info
        self.out_tree = out_tree
        self._no_kwargs = no_kwargs
        self._in_types = in_types
        self._out_types = out_types
        call = executable.create_call(self.in_tree, out_tree, self._const_args)
        self.__call__ = _without_keywords(call) if no_kwargs else call

    @classmethod
    def of_executable(
        cls, program: TracedProgram, in_tree: PyTreeDef, compiled: compiled_programs.Compiled
    ) -> Compiled:
        """Returns the stage of a deserialized function.

        ``program`` has the function's types but no equations.
        """
        executable = FlatExecutable(program, compiled)
        info = args_info_of(in_tree, executable.operand_avals, compiled.lowered.donated)
        return cls(executable, [], info, program.out_tree)

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, in the structure of the arguments."""
        return super().in_avals if self._in_types is None else self._in_types

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the executable, like calling the object."""
        return self.__call__(*args, **kwargs)

    def as_text(self) -> str:
        """Returns the optimized program as HLO text."""
        return self._executable.as_text()

    def cost_analysis(self) -> dict[str, float]:
        """Estimates costs such as ``flops`` and ``bytes accessed``."""
        return self._executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Returns the sizes in bytes of arguments, results, temporaries and code."""
        return self._executable.memory_analysis()

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
        return self._executable.report()

    def __reduce__(self) -> Any:
        executable = self._executable
        contents = serialized.serialized_bytes(executable.program, executable.compiled)
        trees = self.in_tree, self.out_tree, [info.donated for info in self._infos()]
        return _loaded, (contents, *trees, self._const_args, self._no_kwargs)

    def runtime_executable(self) -> Any:
        """Returns the executable, an object of jaxlib."""
        return self._executable.runtime_executable()

    # ---- placement of operands and results ----

    def _infos(self) -> list[ArgInfo]:
        return flatten_operands(self.args_info)[0]

    def _in_arguments(self, of_operands: Sequence[Any]) -> Any:
        """Returns the values of operands in the structure of the arguments."""
        return pytrees.tree_unflatten(self.in_tree, of_operands[len(self._const_args) :])

    @property
    def input_shardings(self) -> Any:
        """The arguments' shardings, in the arguments' structure; None for unused arguments."""
        return self._in_arguments(self._executable.input_shardings())

    @property
    def output_shardings(self) -> Any:
        """The shardings of the results, in the structure of the result."""
        return pytrees.tree_unflatten(self.out_tree, self._executable.output_shardings())

    @property
    def input_formats(self) -> Any:
        """The layouts and shardings of the arguments, in the structure of the arguments."""
        return self._in_arguments(self._executable.input_formats())

    @property
    def output_formats(self) -> Any:
        """The layouts and shardings of the results, in the structure of the result."""
        return pytrees.tree_unflatten(self.out_tree, self._executable.output_formats())

    @property
    def out_info(self) -> Any:
        """Shapes, dtypes, shardings and layouts of the results, in the structure of the result."""
        if self._out_types is None:
            avals = self._executable.out_avals
        else:
            avals = pytrees.tree_leaves(self._out_types)
        structs = [
            ShapeDtypeStruct(aval.shape, aval.dtype, sharding=placed)
            for aval, placed in zip(avals, self._executable.output_formats(), strict=True)
        ]
        return pytrees.tree_unflatten(self.out_tree, structs)


def _without_keywords(call: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a call that refuses keyword arguments, with a message of its own."""

    def positional(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise NotImplementedError(
                "the function was compiled by a transformation that does not support keyword "
                f"arguments, and is now called with the keyword arguments {', '.join(kwargs)}. "
                "Pass them by position."
            )
        return call(*args)

    return positional


def _loaded(
    contents: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    donated: Sequence[bool],
    const_args: Sequence[Any],
    no_kwargs: bool,
) -> Compiled:
    """Returns the compiled function that a pickle contains."""
    executable = FlatExecutable(*serialized.load(contents, out_tree))
    avals = executable.operand_avals[len(const_args) :]
    info = args_info_of(in_tree, avals, donated)
    return Compiled(executable, const_args, info, out_tree, no_kwargs)


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
    return Traced.of_program(program, options, operands)

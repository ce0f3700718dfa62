# SPDX-License-Identifier: Apache-2.0
"""Staging: tracing a function into an olympuspr by recording each primitive as an equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from .._jaxlib import TracebackScope
from ..diagnostics import source_info
from ..diagnostics.debug_info import DebugInfo, unknown_debug_info
from ..diagnostics.errors import TracerBoolConversionError
from ..diagnostics.source_info import SourceInfo, capture, function_name, unknown_source
from ..loading import deferred
from ..settings import config
from ..settings.config_flags import tracer_error_num_traceback_frames
from ..settings.naming import naming
from ..trees.flattening import result_paths
from ..types.avals import (
    AbstractValue,
    array_conversion,
    get_aval,
    is_valid_value,
    varying_axes,
)
from ..types.effects import NamedAxisEffect
from ..types.known_types import AvalMutableQDD
from .evaluation import evaluator
from .leaks import check_leaks
from .olympuspr import (
    Atom,
    ClosedOlympuspr,
    Equation,
    Literal,
    Olympuspr,
    Var,
    is_literalable,
    joined_effects,
    no_context,
)
from .primitives import Primitive
from .rules import RuleTable
from .tracing import (
    Trace,
    Tracer,
    current,
    escaped_tracer_error,
    inside_program,
    operand_type_error,
    register_tracer_type,
    set_current_trace,
)
from .wide_constants import wide_constant_aval, with_wide_constants

if TYPE_CHECKING:
    from . import checker
else:
    checker = deferred(".checker", milliseconds=1.0)

# Rules `rule(trace, args, params)` of primitives that need more than a recorded equation.
staging_rules: RuleTable = RuleTable("staging", package="olympus_ir", folder=None)

# Maps a class of non-array types to the class of their tracers.
tracer_types: dict[type, type[StagingTracer]] = {}


class Running(Protocol):
    """Interface of an object that computes the values of tracers, given the operands of a call."""

    def value_of(self, tracer: Any) -> Any:
        """Returns the value of a tracer, or None."""

    def text_of(self, tracer: Any) -> str | None:
        """Returns a text that shows the value of a tracer, or None."""


class StagingTrace(Trace):
    """Trace that records the primitives applied while one function runs.

    Attributes:
      keeps_sources: whether equations get the source lines of their primitives.
    """

    keeps_sources = True

    __slots__ = (
        "_constants",
        "constant_values",
        "constvars",
        "debug_info",
        "equations",
        "invars",
        "mutables",
        "running",
    )

    def __init__(self, debug_info: DebugInfo = unknown_debug_info, parent: Trace | None = None):
        super().__init__()
        self.parent = parent
        self.debug_info = debug_info
        self.equations: list[Equation] = []
        self.invars: list[Var] = []
        self.constvars: list[Var] = []
        self.constant_values: list[Any] = []
        self.mutables: Any = None  # the trace's mutable objects; see `mutable_types`
        self.running: Running | None = None
        # The variables of constants, by the ids of the values in `constant_values`.
        self._constants: dict[int, Var] = {}

    # ---- inputs and constants ----

    def new_input(self, aval: AbstractValue) -> StagingTracer:
        """Returns a tracer for a new input of the program."""
        var = Var(aval)
        self.invars.append(var)
        return self.tracer_of(var)

    def atom(self, value: Any) -> Atom:
        """Returns the variable or literal that stands for an operand."""
        if value.__class__ is StagingTracer and value._trace is self:
            return value.atom
        if isinstance(value, Tracer):
            if value._trace is self:
                return value.atom  # type: ignore[attr-defined]  # its class is in `tracer_types`
            if value._trace.finished:
                raise escaped_tracer_error(value)
        else:
            if is_literalable(value):
                return Literal(value, get_aval(value))
            convert = array_conversion(value)
            if convert is not None:
                # The conversion must be recorded in this trace, which is no longer current if
                # `value` is a result of the function.
                with set_current_trace(self):
                    converted = convert()
                return self.atom(converted)
        var = self._constants.get(id(value))
        if var is None:
            var = Var(get_aval(value))
            self._constants[id(value)] = var
            self.constvars.append(var)
            self.constant_values.append(value)
        return var

    def tracer(self, value: Any) -> StagingTracer:
        """Returns the value as a tracer of this trace."""
        if value.__class__ is StagingTracer and value._trace is self:
            return value
        return self.tracer_of(self.atom(value))

    def tracer_of(self, atom: Atom) -> StagingTracer:
        """Returns the tracer that stands for a variable or literal of this program."""
        return new_tracer(tracer_types.get(atom.aval.__class__, StagingTracer), self, atom)

    # ---- recording ----

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        rule = staging_rules.rules.get(primitive)
        if rule is not None:
            return rule(self, args, params)
        return self.record(primitive, args, params)

    def record(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Adds an equation and returns tracers for its results."""
        if current.axes.varying and primitive.spreads_varying and len(args) > 1:
            with set_current_trace(self):
                args = varying_alike(args)
        # In Python 3.11 a comprehension is a call, and every traced operation comes through here.
        atoms: list[Atom] = []
        avals: list[Any] = []
        for arg in args:
            if arg.__class__ is StagingTracer and arg._trace is self:
                atom = arg.atom
            else:
                atom = self.operand(primitive, len(atoms), args, params)
            atoms.append(atom)
            avals.append(atom.aval)
        out_avals, effects = primitive.infer(tuple(avals), params)
        source = current.source
        if source is None:
            source = unknown_source
            if self.keeps_sources:
                source = SourceInfo(capture(), current.name_stack)
        if primitive.multiple_results:
            outvars = [Var(aval) for aval in out_avals]
            results: Any = [new_tracer(StagingTracer, self, var) for var in outvars]
        else:
            outvars = [Var(out_avals[0])]
            results = new_tracer(StagingTracer, self, outvars[0])
        self.equations.append(
            Equation(atoms, outvars, primitive, params, effects, source, no_context)
        )
        return results

    def operand(
        self,
        primitive: Primitive,
        position: int,
        operands: Sequence[Any],
        params: dict[str, Any],
    ) -> Atom:
        """Returns the variable or literal that stands for one of an equation's operands."""
        value = operands[position]
        wide = wide_constant_aval(position, operands, params)
        if wide is not None:
            if value.shape == ():
                return Literal(value, wide)
            value = evaluator().array(value, wide)
        try:
            return self.atom(value)
        except TypeError as error:
            if isinstance(value, Tracer):
                raise
            raise operand_type_error(primitive, position, value) from error

    def process_custom_jvp_call(
        self,
        primitive: Any,
        fun: Any,
        jvp: Any,
        args: Any,
        *,
        symbolic_zeros: bool,
        num_consts: int = 0,
    ) -> Sequence[Any]:
        consts, tracers, call_jaxpr = self._traced_call("custom_jvp fun", fun, args)
        return self.record(
            primitive,
            [*consts, *tracers],
            {
                "call_jaxpr": call_jaxpr,
                "jvp_jaxpr_fun": with_leading_constants(jvp, len(consts)),
                "num_consts": len(consts) + num_consts,
                "symbolic_zeros": symbolic_zeros,
            },
        )

    def process_custom_vjp_call(
        self,
        primitive: Any,
        fun: Any,
        fwd: Any,
        bwd: Any,
        args: Any,
        *,
        out_trees: Any,
        symbolic_zeros: bool,
        num_consts: int = 0,
    ) -> Sequence[Any]:
        consts, tracers, call_jaxpr = self._traced_call("custom_vjp fun", fun, args)
        return self.record(
            primitive,
            [*consts, *tracers],
            {
                "call_jaxpr": call_jaxpr,
                "fwd_jaxpr_thunk": forward_with_constants(fwd, len(consts), symbolic_zeros),
                "bwd": backward_with_constants(bwd, len(consts)),
                "num_consts": len(consts) + num_consts,
                "out_trees": out_trees,
                "symbolic_zeros": symbolic_zeros,
            },
        )

    def _traced_call(
        self, name: str, fun: Any, args: Any
    ) -> tuple[Sequence[Any], list[Any], ClosedOlympuspr]:
        """Traces a function with a custom rule; returns its constants, operands and program."""
        tracers = [self.tracer(arg) for arg in with_wide_constants(args, {})]
        info = _info_of_call(name, fun)
        call_jaxpr = trace_to_closed(fun, [tracer.aval for tracer in tracers], info)
        consts, call_jaxpr = separate_constants(call_jaxpr)
        return consts, tracers, call_jaxpr

    # ---- the result ----

    def to_olympuspr(
        self, outputs: Sequence[Any], out_tree: Any = None
    ) -> tuple[Olympuspr, list[Any]]:
        """Returns the recorded program with the given results, and the values of its constants."""
        try:
            outvars = [self.atom(output) for output in outputs]
        except TypeError:
            self._check_outputs(outputs, out_tree)
            raise
        for position, atom in enumerate(outvars):
            if atom.aval.is_ref:
                self._check_returned_ref(position, atom, out_tree)
        info = self.debug_info
        if out_tree is not None:
            info = info.with_result_paths(lambda: result_paths(out_tree))
        olympuspr = Olympuspr(
            self.constvars,
            self.invars,
            outvars,
            self.equations,
            joined_effects(self.equations, (*self.constvars, *self.invars)),
            info,
        )
        return olympuspr, self.constant_values

    def _check_outputs(self, outputs: Sequence[Any], out_tree: Any) -> None:
        """Raises if a result is not an array; the message names the first such result."""
        for position, output in enumerate(outputs):
            if not is_valid_value(output):
                path = result_paths(out_tree)[position] if out_tree is not None else ""
                where = f" at output component {path.removeprefix('result')}" if path else ""
                raise TypeError(
                    f"function {self.debug_info.func_src_info} traced for "
                    f"{self.debug_info.traced_for} returned a value of type {type(output)}"
                    f"{where if path != 'result' else ''}, which is not a valid {naming.library} "
                    "type"
                ) from None

    def _check_returned_ref(self, position: int, atom: Any, out_tree: Any) -> None:
        """Raises if a result is a reference. Loops of kernels may return a reference unchanged."""
        info = self.debug_info
        if atom.aval.memory_space is not None and info.traced_for in (
            "scan",
            "while_body",
            "fori_loop",
        ):
            return
        path = result_paths(out_tree)[position] if out_tree is not None else "result"
        where = f" at output tree path {path}" if path != "result" else ""
        if atom in self.invars:
            names, index = info.arg_names or (), self.invars.index(atom)
            name = names[index] if index < len(names) else f"number {index}"
            origin = f"passed in as the argument {name}"
        elif atom in self.constvars:
            origin = "closed over"
        else:
            makers = [eqn.source_info for eqn in self.equations if atom in eqn.outvars]
            origin = f"created on line {source_info.summarize(makers[0])}"
        kind = "custom_vjp primal function" if info.traced_for == "custom_vjp fun" else "function"
        raise ValueError(
            f"{kind} {info.func_src_info} traced for {info.traced_for} returned a mutable array "
            f"reference of type {atom.aval.str_short()}{where}, but mutable array references "
            "cannot be returned. Return its value, `ref[...]`.\n\nThe returned mutable array "
            f"was {origin}."
        )

    def finish(self) -> None:
        """Marks the trace as finished. Later uses of its tracers raise errors."""
        self.finished = True

    def unfinished_message(self, var: Atom) -> str:
        """Returns the error message for a variable whose value is unknown during tracing."""
        return _origin_of(self, var)


@register_tracer_type
class StagingTracer(Tracer):
    """Tracer of a variable or literal of the program that is being recorded.

    OLYMPUS makes its tracers with `new_tracer`. Only other libraries call the class.

    Args:
      trace: the trace that records the program.
      aval: the type of the tracer, which is that of ``val``.
      val: the variable or literal.
      line_info: the source of the value; None for the source of the equation that computes it.
      parent: the equation that computes the value; None to find it in the trace.
    """

    __slots__ = ("_line_info", "_parent", "atom")

    def __init__(
        self,
        trace: StagingTrace,
        aval: AbstractValue,
        val: Atom,
        line_info: SourceInfo | None = None,
        parent: Equation | None = None,
    ) -> None:
        if aval != val.aval:
            raise TypeError(f"a tracer of type {aval} cannot stand for {val}")
        self._trace = trace
        self.atom = val
        if line_info is not None:
            self._line_info = line_info
        if parent is not None:
            self._parent = parent

    @property
    def aval(self) -> Any:
        return self.atom.aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.atom.aval.shape

    @property
    def dtype(self) -> Any:
        return self.atom.aval.dtype

    @property
    def ndim(self) -> int:
        return self.atom.aval.ndim

    @property
    def weak_type(self) -> bool:
        return self.atom.aval.weak_type

    @property
    def referent(self) -> Any:
        return self.atom

    def concrete_or_none(self) -> Any:
        return self.atom.val if isinstance(self.atom, Literal) else None

    def _concrete(self, error: Callable[[Tracer], Exception]) -> Any:
        running = self._trace.running  # type: ignore[attr-defined]  # of a staging trace
        value = None if running is None else running.value_of(self)
        return super()._concrete(error) if value is None else value

    def cur_qdd(self) -> Any:
        """Returns the state of the value's type; None for types without a state, such as arrays."""
        aval = self.aval
        return aval.type_state(self) if getattr(aval, "has_qdd", False) is True else None

    @property
    def mutable_qdd(self) -> Any:
        """The state of the value's type; None for types without a state, such as arrays."""
        return self.cur_qdd()

    @property
    def aval_mutable_qdd(self) -> AvalMutableQDD:
        """The type of the value with its state."""
        return AvalMutableQDD(self.aval, self.cur_qdd())

    def __bool__(self) -> bool:
        # Constants raise the error, too: libraries use it to detect whether a program is being
        # traced.
        if self.atom.aval.size == 1 and self._trace.running is None:  # type: ignore[attr-defined]
            raise TracerBoolConversionError(self)
        return super().__bool__()

    def _origin_message(self) -> str:
        line = getattr(self, "_line_info", None)
        if line is not None:
            return f"The value was created on line {source_info.summarize(line)}."
        return _origin_of(self._trace, self.atom)  # type: ignore[arg-type]  # a staging trace

    def __repr__(self) -> str:
        running = self._trace.running  # type: ignore[attr-defined]  # of a staging trace
        text = None if running is None or self._trace.finished else running.text_of(self)
        return f"JitTracer({self.atom.aval})" if text is None else text


_KindOfTracer = TypeVar("_KindOfTracer", bound=StagingTracer)


def new_tracer(kind: type[_KindOfTracer], trace: StagingTrace, atom: Atom) -> _KindOfTracer:
    """Makes a tracer of a variable or literal that the trace itself has made."""
    tracer = object.__new__(kind)
    tracer._trace = trace
    tracer.atom = atom
    return tracer


def _lines_of(equation: Equation) -> str:
    """Returns the user's lines that led to an equation, at most as many as the flag permits."""
    frames = max(1, tracer_error_num_traceback_frames.value)
    line, *callers = source_info.summarize(equation.source_info, frames).splitlines()
    return "\n  called from ".join([f"{line}, by `{equation.primitive.name}`.", *callers])


def _origin_of(trace: StagingTrace, atom: Atom) -> str:
    """Describes the arguments or operations that a value of a trace depends on."""
    producers = {var: equation for equation in trace.equations for var in equation.outvars}
    prefix = _where_traced(trace)
    if trace.finished and atom in producers:
        equation = producers[atom]  # type: ignore[index]  # only variables are keys
        return f"{prefix}\nThe leaked intermediate value was created on line {_lines_of(equation)}"
    arguments, sources = _dependencies(trace, atom, producers)
    if arguments:
        plural = "s" if len(arguments) > 1 else ""
        return (
            f"{prefix} This concrete value was not available in Python because it depends on the "
            f"value{plural} of {_listed_arguments(trace, arguments)}."
        )
    if sources:
        lines = "\n".join(
            f"  operation `{equation.primitive.name}`\n"
            f"    from line {source_info.summarize(equation.source_info)}"
            for equation in sources[:_SHOWN]
        )
        return (
            f"{prefix} This value became a tracer due to operations on these lines, whose results "
            f"are not known until the program runs:\n{lines}"
        )
    return prefix


# The maximal number of arguments or operations that a message names.
_SHOWN = 5


def _where_traced(trace: StagingTrace) -> str:
    info = trace.debug_info
    if trace.finished:
        return (
            f"The function being traced when the value leaked was {info.func_src_info} traced for "
            f"{info.traced_for}."
        )
    if info is unknown_debug_info:
        return "The error occurred while tracing a function."
    return (
        f"The error occurred while tracing the function {info.func_src_info} for {info.traced_for}."
    )


def _dependencies(
    trace: StagingTrace, atom: Atom, producers: dict[Var, Equation]
) -> tuple[list[int], list[Equation]]:
    """Returns the positions of the arguments, and the equations, on which a value depends."""
    positions = {var: position for position, var in enumerate(trace.invars)}
    arguments: list[int] = []
    sources: list[Equation] = []
    pending, seen = [atom], set()
    while pending:
        var = pending.pop()
        if isinstance(var, Literal) or var in seen:
            continue
        seen.add(var)
        if var in positions:
            arguments.append(positions[var])
        elif var in producers:
            sources.append(producers[var])
            pending.extend(producers[var].invars)
    return sorted(arguments), sources


def _listed_arguments(trace: StagingTrace, arguments: Sequence[int]) -> str:
    """Returns the names of arguments, joined for a sentence."""
    names = trace.debug_info.arg_names or ()
    shown = [names[i] if i < len(names) else f"number {i}" for i in arguments[:_SHOWN]]
    if len(arguments) > _SHOWN:
        return f"the arguments {', '.join(shown)} and {len(arguments) - _SHOWN} more"
    if len(shown) == 1:
        return f"the argument {shown[0]}"
    comma = "," if len(shown) > 2 else ""
    return f"the arguments {', '.join(shown[:-1])}{comma} and {shown[-1]}"


def _info_of_call(traced_for: str, fun: Any) -> DebugInfo:
    """Returns the names of a function that has a custom rule; functions of libraries have few."""
    described_for = getattr(fun, "described_for", None)
    return DebugInfo.of(traced_for, fun) if described_for is None else described_for(traced_for)


# ---- from functions to programs ----


def trace_to_olympuspr(
    fun: Callable[..., Sequence[Any]],
    in_avals: Sequence[AbstractValue],
    debug_info: DebugInfo = unknown_debug_info,
    running: Running | None = None,
) -> tuple[Olympuspr, list[Any]]:
    """Traces a function of flat operands.

    Args:
      fun: a function that takes one tracer for each operand and returns a sequence of results.
      in_avals: the operands' types.
      debug_info: the names of the function and its arguments, for error messages.
      running: an object that computes the values of tracers, if the operands of the call are known;
        otherwise None.

    Returns:
      The program and the values of its constants. A constant may be a tracer of an outer trace.

    Example:
      >>> from olympus_ir import lax, ShapedArray
      >>> olympuspr, constants = trace_to_olympuspr(
      ...     lambda x: [lax.sin(x)], [ShapedArray((3,), "float32")])
      >>> print(olympuspr)
      { lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }
    """
    trace = StagingTrace(debug_info, parent=current.trace)
    trace.running = running
    tracers = [trace.new_input(aval) for aval in in_avals]
    try:
        # Programs are cached, so their equations must not record the lines of the first call.
        with inside_program(), TracebackScope(), set_current_trace(trace):
            outputs = fun(*tracers)
        olympuspr, constants = trace.to_olympuspr(outputs, getattr(fun, "out_tree", None))
    finally:
        trace.finish()
    if config.check_tracer_leaks.value:
        tracers = outputs = None  # The leak check must find no references to the trace.
        check_leaks(trace)
    if config.enable_checks.value:
        checker.check_olympuspr(olympuspr)
    return olympuspr, constants


def trace_to_closed(
    fun: Callable[..., Sequence[Any]],
    in_avals: Sequence[AbstractValue],
    debug_info: DebugInfo = unknown_debug_info,
) -> ClosedOlympuspr:
    """Applies `trace_to_olympuspr` and closes the program over its constants."""
    return ClosedOlympuspr(*trace_to_olympuspr(fun, in_avals, debug_info))


def separate_constants(closed: ClosedOlympuspr) -> tuple[list[Any], ClosedOlympuspr]:
    """Moves the tracers and references among a program's constants to the inputs.

    Tracers of outer traces, and references, must become operands of the equation that holds the
    program. Other constants stay constants.

    Returns:
      The values of the new inputs, which come first, and the program.
    """
    is_tracer = [
        isinstance(value, Tracer) or var.aval.is_ref
        for value, var in zip(closed.consts, closed.jaxpr.constvars, strict=True)
    ]
    if not any(is_tracer):
        return [], closed
    olympuspr = closed.jaxpr
    operands = [value for value, traced in zip(closed.consts, is_tracer, strict=True) if traced]
    values = [value for value, traced in zip(closed.consts, is_tracer, strict=True) if not traced]
    split = list(zip(olympuspr.constvars, is_tracer, strict=True))
    olympuspr = olympuspr.replace(
        constvars=[var for var, traced in split if not traced],
        invars=[*(var for var, traced in split if traced), *olympuspr.invars],
    )
    return operands, ClosedOlympuspr(olympuspr, values)


def with_leading_constants(jvp: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Returns a jvp rule of flat (primals, tangents) that skips ``count`` leading constants."""
    if count == 0:
        return jvp

    def jvp_of_constants_too(*primals_and_tangents: Any) -> Any:
        half = len(primals_and_tangents) // 2
        return jvp(*primals_and_tangents[count:half], *primals_and_tangents[half + count :])

    jvp_of_constants_too.__name__ = function_name(jvp)
    return jvp_of_constants_too


def forward_with_constants(
    fwd: Callable[..., Any], count: int, symbolic_zeros: bool
) -> Callable[..., Any]:
    """Returns a forward pass that skips its first ``count`` operands, which are constants.

    With ``symbolic_zeros``, one flag for each operand follows the operands. The flags of the
    constants are skipped, too.
    """
    if count == 0:
        return fwd

    def fwd_of_constants_too(*operands: Any) -> Any:
        if not symbolic_zeros:
            return fwd(*operands[count:])
        half = len(operands) // 2
        return fwd(*operands[count:half], *operands[half + count :])

    fwd_of_constants_too.__name__ = function_name(fwd)
    return fwd_of_constants_too


def backward_with_constants(bwd: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Returns a backward pass that adds the cotangent None for ``count`` leading constants."""
    if count == 0:
        return bwd

    def bwd_of_constants_too(*operands: Any) -> Any:
        return [*[None] * count, *bwd(*operands)]

    bwd_of_constants_too.__name__ = function_name(bwd)
    return bwd_of_constants_too


def varying_alike(args: Sequence[Any]) -> Sequence[Any]:
    """Casts operands to vary over all mesh axes over which any operand varies.

    The cast is a separate equation, `pvary`, whose transpose is the sum over the devices. Constants
    are not cast, because they have no cotangents.
    """
    avals = [arg.aval if isinstance(arg, Tracer) else None for arg in args]
    varying = varying_axes(avals)
    if all(aval is None or getattr(aval, "vma", varying) == varying for aval in avals):
        return args
    return [
        arg if aval is None or not hasattr(aval, "vma") else _pvary(arg, tuple(varying - aval.vma))
        for arg, aval in zip(args, avals, strict=True)
    ]


def _no_pvary(value: Any, axes: tuple) -> NoReturn:
    raise RuntimeError("the primitive `pvary` is not declared: import olympus_ir.lax")


_pvary: Callable[[Any, tuple], Any] = _no_pvary


def install_pvary(pvary: Callable[[Any, tuple], Any]) -> None:
    """Installs the function of `olympus_ir.lax` that casts a value to vary over more mesh axes."""
    global _pvary
    _pvary = pvary


def cast_to_varying(value: Any, axes: tuple) -> Any:
    """Casts a value to vary over more mesh axes, by the primitive `pvary`."""
    return _pvary(value, axes)


def named_axes(effects: frozenset) -> list[Any]:
    """Returns the named axes that a program uses."""
    return [effect.name for effect in effects if isinstance(effect, NamedAxisEffect)]

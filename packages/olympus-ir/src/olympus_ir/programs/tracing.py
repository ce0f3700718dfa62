# SPDX-License-Identifier: Apache-2.0
"""Traces and tracers, which determine the interpreter that applies a primitive.

There is no stack of interpreters. A thread's `current` state holds one trace, which processes every
primitive, regardless of the operands. The trace of a transformation (batching, differentiation) has
a parent trace, in which it applies primitives. A tracer knows its trace, so each trace can
distinguish its own tracers from constants.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from ..diagnostics.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
    assignment_error,
    escaped_tracer_message,
)
from ..diagnostics.name_stacks import NameStack, marks_of, no_names
from ..settings import config_states
from ..settings.naming import naming
from ..types.arrays import ArrayBase
from ..types.avals import AbstractValue, aval_getters, get_aval, register_value_type

if TYPE_CHECKING:
    from .primitives import Primitive


class Trace:
    """Interpreter of primitives, active while a function is traced.

    Subclasses implement `process_primitive`, and `process_custom_jvp_call` and
    `process_custom_vjp_call` for calls of functions with their own derivative rules.
    """

    __slots__ = ("__weakref__", "finished", "parent")

    parent: Trace | None
    finished: bool  # whether the traced function has returned, which invalidates its tracers

    def __init__(self) -> None:
        self.parent = None
        self.finished = False

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Applies a primitive to operands that include tracers of this trace."""
        raise NotImplementedError(f"{type(self).__name__} must define process_primitive")

    def process_custom_jvp_call(
        self,
        primitive: Primitive,
        fun: Callable[..., Sequence[Any]],
        jvp: Callable[..., Sequence[Any]],
        args: Sequence[Any],
        *,
        symbolic_zeros: bool,
        num_consts: int = 0,
    ) -> Sequence[Any]:
        """Calls `fun(*args)`, a function of flat operands whose derivative is `jvp`.

        The first ``num_consts`` operands are values that the function had closed over. The rule
        ignores them, so the function cannot be differentiated with respect to them.
        """
        raise NotImplementedError(f"{type(self).__name__} must define process_custom_jvp_call")

    def process_custom_vjp_call(
        self,
        primitive: Primitive,
        fun: Callable[..., Sequence[Any]],
        fwd: Callable[..., Sequence[Any]],
        bwd: Callable[..., Sequence[Any]],
        args: Sequence[Any],
        *,
        out_trees: Callable[[], tuple],
        symbolic_zeros: bool,
        num_consts: int = 0,
    ) -> Sequence[Any]:
        """Calls `fun(*args)`, a function of flat operands whose vjp rule is `fwd` and `bwd`.

        With symbolic zeros, ``fwd`` also receives one flag for each operand, after the operands.
        The flag states whether the operand is differentiated.
        """
        raise NotImplementedError(f"{type(self).__name__} must define process_custom_vjp_call")

    def __repr__(self) -> str:
        return f"{type(self).__name__}"


def closed_over(num_consts: int) -> dict[str, int]:
    """Returns the keyword argument ``num_consts``, or no keyword argument if it is 0.

    Traces of other libraries do not accept this argument, but can process calls without constants.
    """
    return {"num_consts": num_consts} if num_consts else {}


class EvaluationTrace(Trace):
    """Trace that evaluates primitives on concrete operands, outside of any tracing."""

    __slots__ = ()

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
        return fun(*args)

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
        return fun(*args)


def _no_evaluator(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> NoReturn:
    raise RuntimeError("olympus_ir.programs.evaluation has not been imported")


class _InstalledEvaluationTrace(EvaluationTrace):
    """Trace that passes primitives to the evaluator in use.

    `programs.evaluation` sets ``process_primitive`` to the evaluator's own function, which avoids a
    stack frame.
    """

    __slots__ = ("process_primitive",)

    def __init__(self) -> None:
        super().__init__()
        self.process_primitive = _no_evaluator


evaluation_trace = _InstalledEvaluationTrace()


class AxisEnvironment:
    """Named axes in scope; immutable, hashable, part of the keys of tracing caches.

    Attributes:
      sizes: a mapping from axis names to sizes.
      spmd_names: the mesh axes over which mapped axes are sharded.
      varying: the axes over which types track variation.
    """

    __slots__ = ("_hash", "sizes", "spmd_names", "varying")

    def __init__(
        self,
        sizes: dict[Any, int] | None = None,
        spmd_names: frozenset = frozenset(),
        varying: frozenset = frozenset(),
    ) -> None:
        self.sizes = dict(sizes or {})
        self.spmd_names = spmd_names
        self.varying = varying
        self._hash = hash((tuple(self.sizes.items()), spmd_names, varying))

    def extend(
        self,
        sizes: dict[Any, int],
        *,
        spmd_names: frozenset = frozenset(),
        varying: frozenset = frozenset(),
    ) -> AxisEnvironment:
        """Returns the environment with more axes."""
        return AxisEnvironment(
            {**self.sizes, **sizes}, self.spmd_names | spmd_names, self.varying | varying
        )

    def size(self, name: Any) -> int:
        """Returns the size of a named axis.

        Raises:
          NameError: if no such axis is in scope.
        """
        try:
            return self.sizes[name]
        except (KeyError, TypeError):
            # `pmap` binds a name of its own if the user gives none.
            shown = [axis for axis in self.sizes if not str(axis).startswith("_internal_")]
            bound = ", ".join(map(repr, shown)) or "none"
            raise NameError(
                f"Found an unbound axis name: {name} (bound axis names: {bound}). To fix this, "
                "please call the function that uses it under `olympus.shard_map`, or under "
                "`vmap(..., axis_name=...)`."
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self.sizes

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, AxisEnvironment)
            and list(self.sizes.items()) == list(other.sizes.items())
            and self.spmd_names == other.spmd_names
            and self.varying == other.varying
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"AxisEnvironment({self.sizes})"


empty_axis_environment = AxisEnvironment()


class _Current(threading.local):
    """State of a thread's tracing. Read its attributes; set them only by the context managers."""

    trace: Trace = evaluation_trace
    axes: AxisEnvironment = empty_axis_environment
    # The names given by `named_scope`, outermost first.
    name_stack: NameStack = no_names
    # The source of the current equation while a program is evaluated again; otherwise None.
    source: Any = None
    # Whether the sizes of arrays may depend on elements; see `olympus_ir.padding.counting`.
    counts_sizes: bool = False


current = _Current()

_axis_environment = config_states.axis_environment
_tracing_state = config_states.tracing_state


class set_current_trace:
    """Context manager that makes ``trace`` the trace that processes all primitives."""

    __slots__ = ("_previous_state", "prev", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __enter__(self) -> Trace:
        self.prev = current.trace
        current.trace = self.trace
        # The C++ call paths must not run compiled functions during tracing.
        self._previous_state = _tracing_state.swap_local(
            None if self.trace is evaluation_trace else True
        )
        return self.trace

    def __exit__(self, *exception: Any) -> None:
        current.trace = self.prev
        _tracing_state.set_local(self._previous_state)


@contextmanager
def extend_axes(sizes: dict[Any, int], varying: frozenset = frozenset()):
    """Context manager that binds named axes. Types track variation over the axes in ``varying``."""
    if not sizes and not varying:
        yield
        return
    previous = current.axes
    current.axes = previous.extend(sizes, varying=varying)
    # Compiled functions that are called without a trace read the axes, too.
    previous_state = _axis_environment.swap_local(current.axes)
    try:
        yield
    finally:
        current.axes = previous
        _axis_environment.set_local(previous_state)


class transforming:
    """Context manager that adds a transformation to the name stack of recorded equations."""

    __slots__ = ("_previous", "name")

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self._previous = current.name_stack
        current.name_stack = NameStack((*self._previous, self.name))

    def __exit__(self, *exception: Any) -> None:
        current.name_stack = self._previous


class inside_program:
    """Context manager in which recorded equations belong to a program that an equation calls.

    The names around the call are not repeated in the program.
    """

    __slots__ = ("_previous",)

    def __enter__(self) -> None:
        self._previous = current.source, current.name_stack
        current.source, current.name_stack = None, marks_of(current.name_stack)

    def __exit__(self, *exception: Any) -> None:
        current.source, current.name_stack = self._previous


class CompileTimeTrace(Trace):
    """Trace that evaluates primitives on concrete values.

    The parent trace processes primitives that have tracers among their operands.
    """

    __slots__ = ()

    def __init__(self, parent: Trace) -> None:
        super().__init__()
        self.parent: Trace = parent  # pyright: ignore[reportIncompatibleVariableOverride]

    def _trace_for(self, args: Sequence[Any]) -> set_current_trace:
        return set_current_trace(self.parent if find_tracers(args) else evaluation_trace)

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        with self._trace_for(args) as trace:
            return trace.process_primitive(primitive, args, params)

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, args: Any, **options: Any
    ) -> Sequence[Any]:
        with self._trace_for(args) as trace:
            return trace.process_custom_jvp_call(primitive, fun, jvp, args, **options)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, args: Any, **options: Any
    ) -> Sequence[Any]:
        with self._trace_for(args) as trace:
            return trace.process_custom_vjp_call(primitive, fun, fwd, bwd, args, **options)


@contextmanager
def ensure_compile_time_eval():
    """Context manager that evaluates operations on concrete values immediately, even while tracing.

    Operations on tracers are recorded as usual.

    Example:
      >>> from olympus_ir import lax
      >>> with ensure_compile_time_eval():
      ...     bool(lax.lt(1, 2))
      True
    """
    trace = current.trace
    if trace is evaluation_trace or isinstance(trace, CompileTimeTrace):
        yield
        return
    with set_current_trace(CompileTimeTrace(trace)):
        yield


# ---- tracers ----


class Tracer(ArrayBase):
    """Stand-in for an array while a function is traced.

    Subclasses define `aval`, or pass it to this class. If the value is known, as in eager
    differentiation, they override `concrete_or_none`.

    Args:
      trace: the trace to which the tracer belongs.
      aval: the type of the value.
    """

    __slots__ = ("__weakref__", "_aval", "_trace")

    _aval: AbstractValue
    _trace: Trace
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, aval: AbstractValue) -> None:
        self._trace = trace
        self._aval = aval

    @property
    def aval(self) -> Any:
        try:
            # Without `__getattr__` of the array methods, which needs the type.
            return object.__getattribute__(self, "_aval")
        except AttributeError:
            raise NotImplementedError(f"{type(self).__name__} must define aval") from None

    # ---- properties of the type ----

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @property
    def itemsize(self) -> int:
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.aval.size * self.aval.dtype.itemsize

    def __len__(self) -> int:
        return len(self.aval)

    def __iter__(self) -> Any:
        if not self.aval.shape:
            raise TypeError("iteration over a 0-d array")
        get = type(self).__getitem__  # type: ignore[attr-defined]  # attached with the operators
        return (get(self, index) for index in range(int(self.aval.shape[0])))

    @property
    def referent(self) -> Any:
        """Returns the reference that the tracer stands for; None if it stands for no reference."""
        return getattr(self, "value", None)

    # ---- uses of concrete values ----

    def concrete_or_none(self) -> Any:
        """Returns the concrete value that the tracer stands for, if known."""
        return None

    def _origin_message(self) -> str:
        """Returns sentences about the function and arguments that the value depends on."""
        return ""

    def _concrete(self, error: Callable[[Tracer], Exception]) -> Any:
        value = self.concrete_or_none()
        if value is None:
            raise error(self)
        return value

    def __bool__(self) -> bool:
        if self.aval.size == 1 or self.concrete_or_none() is not None:
            return bool(self._concrete(TracerBoolConversionError))
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. "
            f"Use a.any() or a.all(); the array is {self.aval.str_short()}."
            if self.aval.size
            else "The truth value of an empty array is ambiguous. Use `array.size > 0`."
        )

    def _check_scalar(self) -> None:
        if getattr(self.aval, "shape", ()):
            raise TypeError(f"Only scalar arrays can be converted to Python scalars: {self.aval}")

    def __int__(self) -> int:
        self._check_scalar()
        return int(self._concrete(needs_a_value("int() was called on", "`x.astype(int)`")))

    def __float__(self) -> float:
        self._check_scalar()
        return float(self._concrete(needs_a_value("float() was called on", "`x.astype(float)`")))

    def __complex__(self) -> complex:
        self._check_scalar()
        return complex(
            self._concrete(needs_a_value("complex() was called on", "`x.astype(complex)`"))
        )

    def __index__(self) -> int:
        if getattr(self.aval, "shape", ()) or not np.issubdtype(self.aval.dtype, np.integer):
            problem = "Only integer scalar arrays can be converted to a scalar index"
            raise TypeError(f"{problem}; got {self.aval.str_short()}.")
        return operator.index(self._concrete(TracerIntegerConversionError))

    def item(self, *args: Any) -> Any:
        value = self._concrete(needs_a_value("item() was called on", "the array itself"))
        return np.asarray(value).item(*args)

    # NumPy's functions would accept a known value and return a constant. Derivatives would then be
    # wrong without an error.
    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TracerArrayConversionError(self)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise assignment_error()

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self

    def __copy__(self) -> Tracer:
        return self

    def __reduce__(self) -> NoReturn:
        raise needs_a_value("pickling was attempted of", "the array itself")(self)

    def __format__(self, format_spec: str) -> str:
        if format_spec:
            raise TypeError(
                f"a traced array of type {self.aval.str_short()} has no value that could be "
                f"formatted as {format_spec!r}. olympus.debug.print shows values when the program "
                "runs."
            )
        return repr(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"


def needs_a_value(operation: str, instead: str) -> Callable[[Tracer], Exception]:
    return lambda tracer: ConcretizationTypeError(
        tracer,
        f"{operation} traced array with shape {tracer.aval.str_short()}, whose value is not known; "
        f"try using {instead} instead.",
    )


TracerType = TypeVar("TracerType", bound=type[Tracer])


def _tracer_aval(tracer: Tracer) -> AbstractValue:
    return tracer.aval


register_value_type(Tracer, _tracer_aval)


def register_tracer_type(tracer_type: TracerType) -> TracerType:
    """Registers a tracer class, so that type checks need not search its bases.

    Can be used as a class decorator.
    """
    aval_getters[tracer_type] = _tracer_aval
    return tracer_type


def reject_tracers(primitive: Primitive, args: Sequence[Any]) -> None:
    """Raises if an operand of an evaluation is a tracer, which must have escaped its function."""
    for arg in args:
        if isinstance(arg, Tracer):
            raise escaped_tracer_error(arg, f"was passed to `{primitive.name}`")


def operand_type_error(primitive: Primitive, position: int, value: Any) -> TypeError:
    """Returns the error for an operand of a type that no operation accepts."""
    return TypeError(
        f"Error interpreting argument to {primitive.name} as {naming.a_library} value. The "
        f"problematic value is of type {type(value)} and was passed to {primitive.name} at "
        f"position {position}."
    )


def escaped_tracer_error(tracer: Tracer, detail: str = "") -> UnexpectedTracerError:
    """Returns the error for a tracer that is used outside the tracing that made it."""
    return UnexpectedTracerError(escaped_tracer_message(tracer, detail))


def find_tracers(args: Sequence[Any]) -> bool:
    """Returns whether any operand is a tracer."""
    return any(isinstance(arg, Tracer) for arg in args)


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """Applies ``force`` to a value that must be concrete.

    Raises:
      ConcretizationTypeError: if ``val`` is a tracer without a known value.
    """
    if isinstance(val, Tracer):
        known = val.concrete_or_none()
        if known is None:
            raise ConcretizationTypeError(val, context)
        val = known
    if force is None or not is_constant_dim(val):
        return val
    return force(val)


def is_constant_dim(size: Any) -> bool:
    """Returns whether a dimension's size is a number, not a symbolic dimension."""
    return type(size) is int or not hasattr(size, "_is_symbolic_dimension")


def is_constant_shape(shape: Sequence[Any]) -> bool:
    """Returns whether all sizes of a shape are numbers."""
    return all(map(is_constant_dim, shape))


def is_concrete(x: Any) -> bool:
    """Returns whether the elements of a value are known during tracing."""
    return not isinstance(x, Tracer) or x.concrete_or_none() is not None


def typeof(x: Any) -> AbstractValue:
    """Returns the abstract value of an array-like value or tracer.

    Example:
      >>> typeof(1.0)
      ShapedArray(float32[], weak_type=True)
    """
    return get_aval(x)

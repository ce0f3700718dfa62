# SPDX-License-Identifier: Apache-2.0
"""Mutable objects in traced functions. The state of an object consists of arrays.

During tracing, the function mutates a copy of the object, which holds traced arrays. The program
takes the state as operands and returns the new state as results. After the program has run, the
object receives the new state. If the function closes over an object, tracing notices the object at
the first use, and starts again with the object's state as an operand.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..trees import pytrees
from ..trees.function_caches import FunctionCache
from ..types.avals import get_aval
from ..types.known_types import ClosedOverMutableError
from .staging import StagingTrace
from .tracing import Tracer, current, evaluation_trace, set_current_trace

__all__ = [
    "apply",
    "call_jitted",
    "cur_qdd",
    "functional",
    "is_mutable",
    "result_without_mutables",
    "threading",
]


def is_mutable(value: Any) -> bool:
    """Returns whether a value is a mutable object, not an array or a tracer."""
    if isinstance(value, Tracer):
        return False
    try:
        return getattr(get_aval(value), "has_qdd", False) is True
    except (TypeError, OverflowError):  # a Python integer that fits no dtype
        return False


def cur_qdd(value: Any) -> Any:
    """Returns the current type state of a mutable value in the trace."""
    if not isinstance(value, Tracer):
        value = _resolved(value, current.trace)
    ask = getattr(value, "cur_qdd", None)
    return get_aval(value).type_state(value) if ask is None else ask()


# ---- objects and their copies in traced functions ----


class _Scope:
    """The mutable objects that a function uses during tracing, by `id`.

    Attributes:
      own: objects that the function made or received as operands.
      copies: pairs of a closed-over object and its copy in the trace.
    """

    __slots__ = ("copies", "own")

    def __init__(self) -> None:
        self.own: dict[int, Any] = {}
        self.copies: dict[int, tuple[Any, Any]] = {}


def _staging(trace: Any) -> StagingTrace | None:
    """Returns the innermost staging trace among a trace and its parents, or None."""
    while trace is not None and not isinstance(trace, StagingTrace):
        trace = trace.parent
    return trace


def _scope(trace: StagingTrace) -> _Scope:
    if trace.mutables is None:
        trace.mutables = _Scope()
    return trace.mutables


def _resolved(value: Any, trace: Any) -> Any:
    """Returns the copy of an object in the function that is being traced.

    Raises:
      ClosedOverMutableError: the function closes over the object.
    """
    recording = _staging(trace)
    if recording is None:
        return value
    scope = _scope(recording)
    if id(value) in scope.own:
        return value
    known = scope.copies.get(id(value))
    if known is None:
        raise ClosedOverMutableError(value, recording)
    return known[1]


def apply(primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Applies a primitive whose operands or results may be mutable objects.

    Returns:
      The result; NotImplemented if no operand or result is a mutable object, or if a transformation
      handles the primitive by a rule.
    """
    changing = [is_mutable(arg) for arg in args]
    if not any(changing) and not _makes_mutable(primitive, args, params):
        return NotImplemented
    trace: Any = current.trace
    while not isinstance(trace, StagingTrace) and trace is not evaluation_trace:
        if any(isinstance(arg, Tracer) and arg._trace is trace for arg in args):
            return NotImplemented  # the transformation handles the primitive by a rule
        trace = trace.parent
    with set_current_trace(trace):
        operands = [
            _resolved(arg, trace) if changes else arg
            for arg, changes in zip(args, changing, strict=True)
        ]
        result = primitive.impl(*operands, **params)
    if trace is not evaluation_trace:
        for made in result if primitive.multiple_results else (result,):
            if is_mutable(made):
                _scope(trace).own[id(made)] = made
    return result


def _makes_mutable(primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> bool:
    avals, _ = primitive.abstract_eval(*map(get_aval, args), **params)
    return any(
        getattr(aval, "has_qdd", False) is True
        for aval in (avals if primitive.multiple_results else [avals])
    )


# ---- state as operands and results ----


class _Place:
    """Placeholder in a pytree for an object whose state is passed separately.

    The placeholder holds the object's index among the distinct objects.
    """

    def __init__(self, number: int) -> None:
        self.number = number


class _State:
    """State of an object, as a pytree: the arrays, the type and the type state (``qdd``)."""

    def __init__(self, arrays: Sequence[Any], aval: Any, qdd: Any) -> None:
        self.arrays, self.aval, self.qdd = arrays, aval, qdd


pytrees.register_pytree_node(
    _Place, lambda place: ((), place.number), lambda number, _: _Place(number)
)
pytrees.register_pytree_node(
    _State,
    lambda state: (tuple(state.arrays), (state.aval, state.qdd)),
    lambda data, arrays: _State(arrays, *data),
)


def _is_part(value: Any) -> bool:
    return isinstance(value, _Place | _State)


def _state_of(value: Any) -> _State:
    """Returns the current state of an object inside the function being traced."""
    value = _resolved(value, current.trace)
    aval, qdd = get_aval(value), cur_qdd(value)
    return _State(aval.read_loval(qdd, value), aval, qdd)


def _copy_of(state: _State) -> Any:
    return state.aval.new_from_loval(state.qdd, *state.arrays)


def _update(value: Any, state: _State) -> None:
    state.aval.update_from_loval(state.qdd, _resolved(value, current.trace), *state.arrays)


class _Copies:
    """The copies of mutable objects that a traced function uses."""

    def __init__(self, originals: Sequence[Any]) -> None:
        self.originals = originals
        self.copies: list[Any] = []

    def enter(self, states: Sequence[_State]) -> None:
        """Makes the copies and registers them with the current staging trace."""
        recording = _staging(current.trace)
        self.copies = list(map(_copy_of, states))
        if recording is not None:
            scope = _scope(recording)
            for original, copy in zip(self.originals, self.copies, strict=True):
                scope.own[id(copy)] = copy
                scope.copies[id(original)] = (original, copy)

    def states(self) -> list[_State]:
        return list(map(_state_of, self.copies))

    def lowered(self, value: Any) -> Any:
        """Replaces a mutable leaf of the function's result.

        A copy of an operand becomes the placeholder for the operand. Any other mutable object
        becomes its state.
        """
        for index, copy in enumerate(self.copies):
            if value is copy:
                return _Place(index)
        return _state_of(value) if is_mutable(value) else value


def functional(
    args: Any, closed_over: Sequence[Any] = ()
) -> tuple[list[Any], Any, Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """Converts a call with mutable objects to a pure function of their states.

    Args:
      args: the pair of positional and keyword arguments.
      closed_over: objects that the function closes over.

    Returns:
      The distinct objects; the arguments with objects replaced by placeholders; and a function that
      converts ``fun`` to its functional form, ``(states, *args, **kwargs) -> (result, states)``.
    """
    objects: list[Any] = []

    def place(value: Any) -> Any:
        if not is_mutable(value):
            return value
        for index, known in enumerate(objects):
            if known is value:
                return _Place(index)
        objects.append(value)
        return _Place(len(objects) - 1)

    args = pytrees.tree_map(place, args)
    for value in closed_over:
        place(value)
    originals = tuple(objects)

    def functional_form(fun: Callable[..., Any]) -> Callable[..., Any]:
        def function(states: Sequence[_State], *args: Any, **kwargs: Any) -> Any:
            copies = _Copies(originals)
            copies.enter(states)

            def raised(value: Any) -> Any:
                return copies.copies[value.number] if isinstance(value, _Place) else value

            args, kwargs = pytrees.tree_map(raised, (args, kwargs), is_leaf=_is_part)
            result = pytrees.tree_map(copies.lowered, fun(*args, **kwargs))
            return result, copies.states()

        function.knows_mutables = True  # type: ignore[attr-defined]
        return function

    return objects, args, functional_form


def _result_of(result: Any, objects: Sequence[Any]) -> Any:
    def raised(value: Any) -> Any:
        if isinstance(value, _Place):
            return objects[value.number]
        if not isinstance(value, _State):
            return value
        made = _copy_of(value)
        recording = _staging(current.trace)
        if recording is not None:
            _scope(recording).own[id(made)] = made
        return made

    return pytrees.tree_map(raised, result, is_leaf=_is_part)


# ---- compiled functions ----

# For each function, its known closed-over mutable objects (under "closed over") and its compiled
# functional forms.
_functional_forms = FunctionCache()


def concerns(fun: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> bool:
    """Returns whether a call's arguments or closure contain mutable objects."""
    if "closed over" in _functional_forms.of(fun):
        return True
    return any(map(is_mutable, pytrees.tree_leaves((args, kwargs))))


def result_without_mutables(
    fun: Callable[..., Any],
    call: Callable[[tuple, dict[str, Any]], tuple],
    args: tuple,
    kwargs: dict[str, Any],
) -> tuple | None:
    """Returns ``call(args, kwargs)``, or None if mutable objects make `call_jitted` necessary.

    A mutable object that the function is found to close over is recorded.

    Raises:
      ClosedOverMutableError: another function closes over the object, or it is already recorded.
    """
    if concerns(fun, args, kwargs):
        return None
    try:
        return call(args, kwargs)
    except ClosedOverMutableError as error:
        note_closed_over(fun, error)
    return None


def note_closed_over(fun: Callable[..., Any], error: ClosedOverMutableError) -> None:
    """Records a mutable object that a function closes over.

    Args:
      fun: the function that was being traced.
      error: the error that names the object.

    Raises:
      ClosedOverMutableError: another function closes over the object, or it is already recorded.
    """
    objects = _functional_forms.of(fun).setdefault("closed over", [])
    if error.trace.parent is not current.trace or any(known is error.value for known in objects):
        raise error
    objects.append(error.value)


def call_jitted(
    jit: Callable[..., Any],
    fun: Callable[..., Any],
    static_argnums: Sequence[int],
    static_argnames: Sequence[str],
    args: tuple,
    kwargs: dict[str, Any],
) -> Any:
    """Calls a compiled function whose arguments or closure contain mutable objects.

    Args:
      jit: makes compiled functions.
      fun: the function.
      static_argnums: the positions of static arguments.
      static_argnames: the names of static arguments.
      args: the arguments of the call.
      kwargs: the keyword arguments of the call.
    """
    while True:
        known = _functional_forms.of(fun)
        closed_over = known.get("closed over", ())
        objects, (args_, kwargs_), functional_form = functional((args, kwargs), closed_over)
        key = tuple(map(id, closed_over)), len(objects)
        form = known.get(key)
        if form is None:
            form = known[key] = jit(
                functional_form(_weakly(fun)),
                static_argnums=tuple(n + 1 if n >= 0 else n for n in static_argnums),
                static_argnames=tuple(static_argnames),
            )
        try:
            result, states = form(list(map(_state_of, objects)), *args_, **kwargs_)
        except ClosedOverMutableError as error:
            note_closed_over(fun, error)
            continue
        for value, state in zip(objects, states, strict=True):
            _update(value, state)
        return _result_of(result, objects)


def types_of_call(
    eval_shape: Callable[..., Any], fun: Callable[..., Any], args: tuple, kwargs: dict[str, Any]
) -> Any:
    """Returns the result types of a call with mutable objects, without changing the objects."""
    objects, (args, kwargs), functional_form = functional((args, kwargs))
    states = list(map(_state_of, objects))
    result, _ = eval_shape(functional_form(fun), states, *args, **kwargs)
    return result


def _weakly(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function without keeping it alive.

    The wrapper can be stored in a cache whose entries live as long as the function.
    """
    try:
        reference: Any = (
            weakref.WeakMethod(fun) if hasattr(fun, "__self__") else weakref.ref(fun)  # type: ignore[arg-type]
        )
    except TypeError:
        return fun

    def function(*args: Any, **kwargs: Any) -> Any:
        return reference()(*args, **kwargs)

    function.__name__ = getattr(fun, "__name__", "function")
    return function


# ---- loops and conditionals ----


def _of_states(
    originals: Sequence[Any], function: Callable[..., Any], may_change: bool = False
) -> Callable[..., Any]:
    """Converts a function that uses objects to ``(states, *args) -> (result, states)``."""

    def of_states(before: Sequence[_State], *args: Any) -> Any:
        copies = _Copies(originals)
        copies.enter(before)
        result = function(*args)
        after = copies.states()
        for first, second in zip(before, after, strict=True):
            if not may_change and first.qdd != second.qdd:
                raise TypeError(
                    "type-changing mutations not allowed in loops: the state of a value of type "
                    f"{first.aval.str_short()} was {first.qdd} before an iteration and "
                    f"{second.qdd} after it"
                )
        return result, after

    return of_states


def threading(error: ClosedOverMutableError, run: Callable[[Any, Callable[..., Any]], Any]) -> Any:
    """Runs a loop or conditional whose functions close over mutable objects.

    Args:
      error: the error that names the first object found.
      run: ``run(states, wrap)`` runs the loop or conditional with the states as additional operands
        and results, and returns the result and the final states. ``wrap(function, may_change)``
        converts a function to ``(states, *args) -> (result, states)``.

    Raises:
      ClosedOverMutableError: another function closes over the object.
      TypeError: the type of an object's state changes in a loop.
    """
    outer = current.trace
    objects: list[Any] = []
    while True:
        if error.trace.parent is not outer or any(known is error.value for known in objects):
            raise error
        objects.append(error.value)
        originals = tuple(objects)

        wrap = functools.partial(_of_states, originals)
        try:
            result, states = run(list(map(_state_of, objects)), wrap)
        except ClosedOverMutableError as another:
            error = another
            continue
        for value, state in zip(objects, states, strict=True):
            _update(value, state)
        return result

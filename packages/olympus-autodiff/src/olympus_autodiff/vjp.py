# SPDX-License-Identifier: Apache-2.0
"""Reverse mode: `vjp`, `grad` and `value_and_grad`, as linearization followed by transposition."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from olympus_ir import dtypes, pytrees
from olympus_ir.avals import get_aval
from olympus_ir.flattening import function_name
from olympus_ir.jit import jit
from olympus_ir.lax.values import as_array
from olympus_ir.olympuspr import Atom, Equation, Literal, Olympuspr, Var
from olympus_ir.traceback_filtering import api_boundary
from olympus_ir.tracing import current, set_current_trace

from .jvp import check_results_are_arrays, split_aux, tangent_aval_of
from .linearize import LinearizeTrace, LinearizeTracer
from .tangent_trace import is_scalar_constant, lift_constants, live_equations
from .transpose import backward_pass
from .zeros import Zero, instantiate, ones_like_aval

__all__ = ["VJP", "fwd_and_bwd", "grad", "value_and_grad", "vjp"]


# ---- vjp ----


class VJP:
    """The transposed derivative of a function at a point: maps cotangents of the result to those of
    the arguments.

    A pytree, whose leaves are the intermediate values that it keeps, so that it can be returned
    from compiled functions.
    """

    __slots__ = (
        "_cotangent_avals",
        "_equations",
        "_input_avals",
        "_invars",
        "_outvars",
        "_program",
        "_residuals",
        "_source",
        "in_tree",
        "out_tree",
    )

    def __init__(
        self,
        equations: Sequence[Equation] | None,
        invars: Sequence[Var],
        outvars: Sequence[Atom | None],
        input_avals: Sequence[Any],
        cotangent_avals: Sequence[Any],
        in_tree: Any,
        out_tree: Any,
        source: Any = None,
    ) -> None:
        self._equations = equations  # with the residuals in them as literals
        self._invars = invars  # one an argument leaf that has tangents
        self._outvars = outvars  # one a result leaf; None where it does not depend on the arguments
        self._input_avals = input_avals  # the tangent types of all argument leaves
        self._cotangent_avals = cotangent_avals
        self.in_tree = in_tree
        self.out_tree = out_tree
        self._source = source
        self._program: Olympuspr | None = None
        self._residuals: list[Any] | None = None

    def __call__(self, out_ct: Any, *extra: Any) -> Any:
        if extra:
            name = function_name(self._source)
            raise TypeError(
                f"The function returned by `vjp` applied to {name} was called with "
                f"{1 + len(extra)} arguments, but it takes one: a single cotangent that corresponds "
                f"to the single value returned by {name}, even if that value is a tuple or another "
                "container. Where the function returns a pair, call `f_vjp((ct1, ct2))`, not "
                "`f_vjp(ct1, ct2)`."
            )
        leaves, tree = pytrees.tree_flatten(out_ct)
        if tree != self.out_tree:
            raise ValueError(
                "unexpected tree structure: the argument to a function returned by `vjp` must match "
                f"the pytree structure of the result of {function_name(self._source)}, which is "
                f"{self.out_tree}, but got {tree}."
            )
        outvars, cotangents = [], []
        for leaf, aval, var in zip(leaves, self._cotangent_avals, self._outvars, strict=True):
            if aval.dtype == dtypes.float0:
                continue  # integers: whatever is given has no effect
            _check_cotangent(leaf, aval)
            if var is not None:
                outvars.append(var)
                cotangents.append(leaf)
        results = iter(
            backward_pass(reversed(self._filled_equations()), self._invars, outvars, cotangents)
        )
        return pytrees.tree_unflatten(
            self.in_tree,
            [
                instantiate(Zero(aval) if aval.dtype == dtypes.float0 else next(results))
                for aval in self._input_avals
            ],
        )

    def _filled_equations(self) -> Sequence[Equation]:
        """The equations with the values of the residuals in them."""
        if self._equations is None:
            assert self._program is not None and self._residuals is not None
            values = dict(zip(self._program.constvars, self._residuals, strict=True))

            def fill(atom: Any) -> Any:
                return Literal(values[atom], atom.aval) if atom in values else atom

            self._equations = [
                equation.replace(invars=[fill(atom) for atom in equation.invars])
                for equation in self._program.eqns
            ]
        return self._equations

    @property
    def jaxpr(self) -> Olympuspr:
        """The linear program, from tangents of arguments to tangents of results."""
        return self._lifted()[0]

    @property
    def opaque_residuals(self) -> list[Any]:
        """The intermediate values kept for the backward pass."""
        return self._lifted()[1]

    def _lifted(self) -> tuple[Olympuspr, list[Any]]:
        """The linear program with its coefficients as constants, and their values."""
        if self._program is None or self._residuals is None:
            assert self._equations is not None
            constvars: list[Var] = []
            residuals: list[Any] = []
            known: dict[int, Var] = {}

            def lift(literal: Literal) -> Atom:
                value = literal.val
                if is_scalar_constant(value):
                    return literal
                if id(value) not in known:
                    known[id(value)] = Var(literal.aval)
                    constvars.append(known[id(value)])
                    residuals.append(value)
                return known[id(value)]

            present = [var for var in self._outvars if var is not None]
            equations, outvars = lift_constants(self._equations, present, lift)
            self._program = Olympuspr(constvars, self._invars, outvars, equations)
            self._residuals = residuals
        return self._program, self._residuals

    def __repr__(self) -> str:
        program, residuals = self._lifted()
        return f"VJP(jaxpr={program}, in_tree={self.in_tree}, opaque_residuals={residuals})"


def _flatten_vjp(function: VJP) -> tuple[tuple[Any, ...], Any]:
    program, residuals = function._lifted()
    static = (
        program,
        tuple(function._outvars),
        tuple(function._input_avals),
        tuple(function._cotangent_avals),
        function.in_tree,
        function.out_tree,
        function._source,
    )
    return (residuals,), static


def _unflatten_vjp(static: Any, children: Any) -> VJP:
    program, outvars, *rest = static
    function = VJP(None, program.invars, outvars, *rest)
    function._program = program
    (function._residuals,) = children
    return function


pytrees.register_pytree_node(VJP, _flatten_vjp, _unflatten_vjp)


def _check_cotangent(cotangent: Any, expected: Any) -> None:
    given = tangent_aval_of(cotangent)
    if given.shape != expected.shape or given.dtype != expected.dtype:
        raise ValueError(
            "unexpected array type (e.g. shape/dtype) for argument to a function returned by `vjp`: "
            f"got {given.str_short()}, but expected {expected.str_short()} because the "
            "corresponding output of the differentiated function has that type"
        )


@api_boundary
def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """Computes a function and returns its vector-Jacobian product: the transposed derivative.

    Args:
      fun: the function to differentiate. Its arguments are arrays or pytrees of arrays.
      *primals: the arguments at which ``fun`` is differentiated.
      has_aux: whether ``fun`` returns a pair of which only the first part is differentiated.
      reduce_axes: no longer has a meaning; must be empty.

    Returns:
      ``(result, f_vjp)``, or ``(result, f_vjp, aux)`` where ``has_aux``. ``f_vjp`` takes a cotangent
      of the structure of the result and returns a tuple of cotangents, one a primal argument.

    Raises:
      TypeError: where ``fun`` is not callable, or an argument or a result is not an array.

    See Also:
      grad: for functions with a scalar result.
      linearize: the derivative itself.

    Example:
      >>> from olympus_ir import lax
      >>> y, f_vjp = vjp(lambda x, y: lax.mul(x, y), 3.0, 2.0)
      >>> f_vjp(1.0)
      (Array(2., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True))
    """
    _check_function(fun)
    _check_reduce_axes("vjp", reduce_axes)
    leaves, tree = pytrees.tree_flatten(primals)
    trace = LinearizeTrace(current.trace)
    tangent_trace = trace.tangent_trace
    inputs = [trace.new_input(leaf) for leaf in leaves]
    aux = None
    try:
        with set_current_trace(trace):
            result = fun(*pytrees.tree_unflatten(tree, inputs))
        if has_aux:
            result, aux = split_aux(result)
            aux = pytrees.tree_map(trace.primal_of, aux)
        out_leaves, out_tree = pytrees.tree_flatten(result)
        pairs = [trace.unpair(leaf) for leaf in out_leaves]
    finally:
        trace.finished = tangent_trace.finished = True
    results = [primal for primal, _ in pairs]
    check_results_are_arrays(results)
    outvars = [
        None if tangent.__class__ is Zero else tangent_trace.atom(tangent) for _, tangent in pairs
    ]
    function = VJP(
        live_equations(tangent_trace.equations, [var for var in outvars if var is not None]),
        tangent_trace.invars,
        outvars,
        [get_aval(leaf).to_tangent_aval() for leaf in leaves],
        [get_aval(result).to_tangent_aval() for result in results],
        tree,
        out_tree,
        fun,
    )
    primals_out = pytrees.tree_unflatten(out_tree, results)
    return (primals_out, function, aux) if has_aux else (primals_out, function)


def fwd_and_bwd(
    fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Splits a function into its forward and its backward pass.

    Args:
      fun: the function to differentiate.
      argnums: the positional arguments to differentiate by.
      has_aux: whether ``fun`` returns a pair of which only the first part is differentiated.
      jitted: whether both functions are compiled.

    Returns:
      ``forward(*args) -> (result, residuals)``, or ``(result, residuals, aux)``; and
      ``backward(residuals, cotangent)``, which gives one cotangent for an integer ``argnums``, else a
      tuple.

    Example:
      >>> from olympus_ir import lax
      >>> forward, backward = fwd_and_bwd(lambda x: lax.mul(x, x), argnums=0, jitted=False)
      >>> y, residuals = forward(3.0)
      >>> backward(residuals, 1.0)
      Array(6., dtype=float32, weak_type=True)
    """
    _check_function(fun)
    single = not isinstance(argnums, tuple | list)

    def forward(*args: Any) -> Any:
        numbers = argument_numbers(argnums, len(args))
        function = function_of_chosen(fun, numbers, args, {})
        return vjp(function, *[args[number] for number in numbers], has_aux=has_aux)

    def backward(residuals: Any, cotangent: Any) -> Any:
        cotangents = residuals(cotangent)
        return cotangents[0] if single else cotangents

    if jitted:
        forward, backward = jit(forward), jit(backward)
    return forward, backward


# ---- grad ----


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """Returns a function that computes the gradient of ``fun``.

    Args:
      fun: a function whose result is a scalar: an array of shape (), of a float dtype.
      argnums: the positional arguments to differentiate by.
      has_aux: whether ``fun`` returns a pair of which only the first part is differentiated.
      holomorphic: whether ``fun`` is promised to be holomorphic; then arguments and result must be
        complex.
      allow_int: whether to differentiate by integer arguments, whose gradient is a zero of dtype
        ``float0``.
      reduce_axes: no longer has a meaning; must be empty.

    Returns:
      A function with the arguments of ``fun`` that returns the gradient: of the structure of the
      chosen argument, or a tuple of such where ``argnums`` is a sequence. Where ``has_aux``, a pair
      of the gradient and the second part of the result.

    Raises:
      TypeError: on the call, where the result is not a real scalar, or an argument to differentiate
        by is not of a float (or complex) dtype.

    See Also:
      value_and_grad: also returns the value.
      vjp: for results that are not scalars.

    Example:
      >>> from olympus_ir import lax
      >>> grad(lax.tanh)(0.2)
      Array(0.961043, dtype=float32, weak_type=True)
    """
    both = _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    def grad_f(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    grad_f = api_boundary(grad_f)
    _describe(grad_f, fun, "Gradient of {fun}", "the gradient", argnums)
    return grad_f


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., tuple[Any, Any]]:
    """Returns a function that computes both the value of ``fun`` and its gradient.

    Args:
      fun: a function whose result is a scalar: an array of shape (), of a float dtype.
      argnums: the positional arguments to differentiate by.
      has_aux: whether ``fun`` returns a pair of which only the first part is differentiated.
      holomorphic: whether ``fun`` is promised to be holomorphic; then arguments and result must be
        complex.
      allow_int: whether to differentiate by integer arguments, whose gradient is a zero of dtype
        ``float0``.
      reduce_axes: no longer has a meaning; must be empty.

    Returns:
      A function with the arguments of ``fun`` that returns the pair of the value and the gradient;
      ``((value, aux), gradient)`` where ``has_aux``. The gradient is as `grad` returns it.

    Raises:
      TypeError: as `grad`.

    Example:
      >>> from olympus_ir import lax
      >>> value_and_grad(lambda x: lax.mul(x, x))(3.0)
      (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    value_and_grad_f = api_boundary(
        _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)
    )
    _describe(
        value_and_grad_f,
        fun,
        "Value and gradient of {fun}",
        "a pair of its value and the gradient",
        argnums,
    )
    return value_and_grad_f


def _value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    reduce_axes: Sequence[Any],
) -> Callable[..., tuple[Any, Any]]:
    _check_function(fun)
    _check_reduce_axes("grad", reduce_axes)
    single = not isinstance(argnums, tuple | list)
    wanted = operator.index(argnums) if single else tuple(map(operator.index, argnums))  # type: ignore[arg-type]

    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        numbers = argument_numbers(wanted, len(args))
        full = list(args)
        trace = LinearizeTrace(current.trace)
        inputs: list[tuple[list[Any], Any]] = []
        for number in numbers:
            leaves, tree = pytrees.tree_flatten(args[number])
            for leaf in leaves:
                check_input(leaf, holomorphic, allow_int, "grad")
            tracers = [trace.new_input(leaf) for leaf in leaves]
            full[number] = pytrees.tree_unflatten(tree, tracers)
            inputs.append((tracers, tree))
        tangent_trace = trace.tangent_trace
        aux = None
        try:
            with set_current_trace(trace):
                result = fun(*full, **kwargs)
            if has_aux:
                result, aux = split_aux(result)
                aux = pytrees.tree_map(trace.primal_of, aux)
            _check_scalar(result)
            value, tangent = trace.unpair(result)
            aval = get_aval(value)
            check_output(aval.dtype, holomorphic, "grad")  # type: ignore[union-attr]
        finally:
            trace.finished = tangent_trace.finished = True
        if tangent.__class__ is Zero:
            cotangents = [Zero(var.aval) for var in tangent_trace.invars]
        else:
            cotangents = backward_pass(
                _consumed(tangent_trace.equations),
                tangent_trace.invars,
                [tangent_trace.atom(tangent)],
                [ones_like_aval(aval)],
            )
        given = iter(cotangents)
        gradients = tuple(
            [
                pytrees.tree_unflatten(
                    tree,
                    [
                        as_array(instantiate(next(given)))
                        if tracer.__class__ is LinearizeTracer and tracer._trace is trace
                        else instantiate(Zero.of(tracer))
                        for tracer in tracers
                    ],
                )
                for tracers, tree in inputs
            ]
        )
        gradient = gradients[0] if single else gradients
        return ((value, aux) if has_aux else value), gradient

    return value_and_gradient


def _consumed(equations: list[Equation]) -> Any:
    """The equations from the last to the first, each given up, with its residuals, when used."""
    while equations:
        yield equations.pop()


def _describe(
    wrapper: Any, fun: Callable[..., Any], summary: str, what: str, argnums: Any
) -> None:
    functools.update_wrapper(wrapper, fun, updated=())
    name = function_name(fun)
    wrapper.__doc__ = (
        f"{summary.format(fun=name)} with respect to positional argument(s) {argnums}. Takes the "
        f"same arguments as {name} but returns {what}, which has the same shape as the arguments at "
        f"positions {argnums}."
    )
    if getattr(fun, "__doc__", None):
        wrapper.__doc__ += f"\n\nOriginal documentation:\n\n{fun.__doc__}"


# ---- arguments ----


def _check_function(fun: Any) -> None:
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}")


def _check_reduce_axes(name: str, reduce_axes: Any) -> None:
    if reduce_axes:
        raise NotImplementedError(
            f"{name}(..., reduce_axes={reduce_axes!r}): reduce_axes is not supported any more; apply "
            "psum inside the function."
        )


def argument_numbers(argnums: Any, count: int) -> tuple[int, ...]:
    """The positions of arguments as non-negative integers.

    Raises:
      TypeError: where there are not as many arguments.
    """
    numbers = argnums if isinstance(argnums, tuple | list) else (argnums,)
    for number in numbers:
        if not -count <= number < count:
            needed = number + 1 if number >= 0 else -number
            raise TypeError(
                f"differentiating with respect to argnums={argnums} requires at least {needed} "
                f"positional arguments to be passed by the caller, but got only {count} positional "
                "arguments."
            )
    return tuple([number % count for number in numbers])


def function_of_chosen(
    fun: Callable[..., Any], numbers: Sequence[int], args: Sequence[Any], kwargs: dict[str, Any]
) -> Callable[..., Any]:
    """The function of the chosen positional arguments alone; the others keep their values."""

    def of_chosen(*chosen: Any) -> Any:
        full = list(args)
        for number, value in zip(numbers, chosen, strict=True):
            full[number] = value
        return fun(*full, **kwargs)

    of_chosen.__name__ = function_name(fun)
    return of_chosen


_REAL_DTYPES = frozenset(dtypes.floats)
_DIFFERENTIABLE_DTYPES = frozenset((*dtypes.floats, *dtypes.complexes))


def check_input(leaf: Any, holomorphic: bool, allow_int: bool, name: str) -> None:
    """Raises TypeError where an argument cannot be differentiated by."""
    try:
        dtype = get_aval(leaf).dtype  # type: ignore[union-attr]
    except TypeError:
        raise TypeError(
            f"Argument {leaf!r} of type {type(leaf)} is not a valid OLYMPUS type"
        ) from None
    if not holomorphic and dtype in _DIFFERENTIABLE_DTYPES:
        return
    if holomorphic:
        if not dtypes.issubdtype(dtype, np.complexfloating):
            raise TypeError(
                f"{name} with holomorphic=True requires inputs with complex dtype, but got "
                f"{dtypes.name_of(dtype)}."
            )
    elif dtypes.is_extended(dtype) or not dtypes.issubdtype(dtype, np.inexact):
        if not allow_int:
            raise TypeError(
                f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype "
                f"of np.inexact), but got {dtypes.name_of(dtype)}. If you want to use Boolean- or "
                "integer-valued inputs, use vjp or set allow_int to True."
            )


def check_output(dtype: Any, holomorphic: bool, name: str) -> None:
    """Raises TypeError where a result of this dtype cannot be differentiated."""
    if not holomorphic and dtype in _REAL_DTYPES:
        return
    if holomorphic:
        if not dtypes.issubdtype(dtype, np.complexfloating):
            raise TypeError(
                f"{name} with holomorphic=True requires outputs with complex dtype, but got "
                f"{dtypes.name_of(dtype)}."
            )
    elif dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {dtypes.name_of(dtype)}. For holomorphic differentiation, pass "
            "holomorphic=True. For differentiation of non-holomorphic functions involving complex "
            "outputs, use vjp directly."
        )
    else:
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {dtypes.name_of(dtype)}. For differentiation of functions with "
            "integer outputs, use vjp directly."
        )


def _check_scalar(result: Any) -> None:
    """Raises TypeError where the result to differentiate is not a single scalar."""
    try:
        aval = get_aval(result)
    except TypeError:
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output was {result!r}."
        ) from None
    if aval.shape != ():  # type: ignore[union-attr]
        raise TypeError(
            "Gradient only defined for scalar-output functions. Output had shape: "
            f"{aval.shape}."  # type: ignore[union-attr]
        )

# SPDX-License-Identifier: Apache-2.0
"""Reverse mode: `vjp`, as linearization followed by transposition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.diagnostics.traceback_filtering import api_boundary, boundary_class
from olympus_ir.loading import deferred
from olympus_ir.programs.jit import jit
from olympus_ir.programs.olympuspr import Atom, Equation, Literal, Olympuspr, Var
from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import function_name
from olympus_ir.types import dtypes, known_types
from olympus_ir.types.annotations import AxisName, PyTree

from ..forward.checks import tangent_aval_of
from ..forward.linearize import linearize_at
from ..forward.tangent_trace import ConstantCollector, lift_constants, live_equations
from ..zeros import Zero, as_result, aval_of, laid_out_as
from .arguments import argument_numbers, check_function, check_reduce_axes, function_of_chosen
from .transpose import backward_pass

if TYPE_CHECKING:
    from . import gradient_references
else:
    gradient_references = deferred(".gradient_references", milliseconds=10)

__all__ = ["VJP", "fwd_and_bwd", "vjp"]


@boundary_class
class VJP:
    """The transposed derivative of a function at a point.

    A call maps cotangents of the result to cotangents of the arguments. The object is a pytree
    whose leaves are the residuals, so compiled functions can return it.
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
        self._equations = equations  # the residuals are literals in the equations
        self._invars = invars  # one variable for each argument leaf with tangents
        self._outvars = (
            # One variable for each result leaf; None for a leaf that does not depend on the
            # arguments.
            outvars
        )
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
                f"The function returned by `olympus.vjp` applied to {name} was called with "
                f"{1 + len(extra)} arguments, but functions returned by `olympus.vjp` must be "
                "called with a single argument corresponding to the single value returned by "
                f"{name}, even if that value is a tuple or another container. Where the function "
                "returns a pair, call `f_vjp((ct1, ct2))`, not `f_vjp(ct1, ct2)`."
            )
        leaves, tree = pytrees.tree_flatten(out_ct)
        if tree != self.out_tree:
            raise ValueError(
                "unexpected tree structure: the argument to a VJP function returned by "
                "`olympus.vjp` must match the pytree structure of the result of "
                f"{function_name(self._source)}, which is {self.out_tree}, but got {tree}."
            )
        outvars, cotangents = [], []
        for leaf, aval, var in zip(leaves, self._cotangent_avals, self._outvars, strict=True):
            if getattr(aval, "dtype", None) == dtypes.float0:
                continue  # the cotangents of integer results are ignored
            leaf = _checked_cotangent(leaf, aval)
            if var is not None:
                outvars.append(var)
                cotangents.append(leaf)
        results = iter(
            backward_pass(
                reversed(self._filled_equations()), self._invars, outvars, cotangents, named=True
            )
        )
        return pytrees.tree_unflatten(
            self.in_tree,
            [
                as_result(
                    Zero(aval) if getattr(aval, "dtype", None) == dtypes.float0 else next(results),
                    leaves,
                )
                for aval in self._input_avals
            ],
        )

    def with_refs(self, *destinations: Any) -> Callable[[Any], Any]:
        """Returns a function that adds cotangents to references instead of returning them.

        Args:
          *destinations: for each argument, in its structure, the destination of its cotangents: a
            reference to add to, `GradValue()` to return them, or `DontWant()` to drop them.

        Returns:
          A function that maps the result's cotangent to the arguments' cotangents. In place of
          cotangents that are not returned, it returns `GradRef()` or `DidntWant()`.

        Example:
          >>> from olympus_ir import lax
          >>> from olympus_ir.references.primitives import new_ref
          >>> total = new_ref(1.0)
          >>> _, f_vjp = vjp(lambda x: lax.mul(x, x), 3.0)
          >>> f_vjp.with_refs(total)(1.0)
          (GradRef(),)
          >>> total
          Ref(7., dtype=float32, weak_type=True)
        """
        placed = gradient_references.placed
        places = self.in_tree.flatten_up_to(destinations)

        def pulled_back(out_ct: Any) -> Any:
            cotangents = pytrees.tree_leaves(self(out_ct))
            return pytrees.tree_unflatten(self.in_tree, list(map(placed, places, cotangents)))

        return pulled_back

    def _filled_equations(self) -> Sequence[Equation]:
        """Returns the equations with residuals filled in as literals."""
        if self._equations is None:
            assert self._program is not None and self._residuals is not None
            values = dict(zip(self._program.constvars, self._residuals, strict=True))

            def fill(atom: Any) -> Any:
                return Literal(values[atom], atom.aval) if atom in values else atom

            self._equations = [equation.map_operands(fill) for equation in self._program.eqns]
        return self._equations

    @property
    def jaxpr(self) -> Olympuspr:
        """The linear program that maps the arguments' tangents to the result's tangents."""
        return self._lifted()[0]

    @property
    def opaque_residuals(self) -> list[Any]:
        """The residuals, which are kept for the backward pass."""
        return self._lifted()[1]

    def _lifted(self) -> tuple[Olympuspr, list[Any]]:
        """Returns the linear program with the residuals as constants, and the residuals' values."""
        if self._program is None or self._residuals is None:
            assert self._equations is not None
            present = [var for var in self._outvars if var is not None]
            collector = ConstantCollector()
            equations, outvars = lift_constants(self._equations, present, collector.lift)
            self._program = Olympuspr(collector.constvars, self._invars, outvars, equations)
            self._residuals = collector.values
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


def _checked_cotangent(cotangent: Any, expected: Any) -> Any:
    aval = tangent_aval_of(cotangent)
    if known_types.is_high(expected) and aval == expected:
        return cotangent
    if expected.layout is not None:
        expected = expected.to_ct_aval()
    same_layout = aval.layout is expected.layout
    if not same_layout and aval.layout is None:
        # A cotangent without a layout counts as replicated, so it can be resharded.
        cotangent, same_layout = laid_out_as(cotangent, expected), True
    if aval.shape != expected.shape or aval.dtype != expected.dtype or not same_layout:
        raise ValueError(
            f"unexpected {naming.library} type (e.g. shape/dtype) for argument to VJP function: "
            f"got {aval.str_short()}, but expected {expected.str_short()} because the "
            f"corresponding output of the differentiated function had {naming.library} type "
            f"{expected.str_short()}"
        )
    return cotangent


def _tangent_aval(aval: Any) -> Any:
    """Returns the type of an argument's cotangent; for a reference, a ``float0`` type."""
    if aval.is_ref:
        return aval.inner_aval.update(dtype=dtypes.float0, weak_type=False)
    return aval.to_tangent_aval()


@api_boundary
def vjp(
    fun: Callable[..., Any],
    *primals: PyTree,
    has_aux: bool = False,
    reduce_axes: Sequence[AxisName] = (),
) -> tuple[Any, ...]:
    """Evaluates a function and returns its vector-Jacobian product, the transposed derivative.

    Args:
      fun: the function to differentiate. Its arguments are arrays or pytrees of arrays.
      *primals: the arguments at which ``fun`` is differentiated.
      has_aux: whether ``fun`` returns a pair; only the first part is differentiated.
      reduce_axes: deprecated; must be empty.

    Returns:
      ``(result, f_vjp)``, or ``(result, f_vjp, aux)`` with ``has_aux``. ``f_vjp`` takes a cotangent
      of the structure of the result and returns a tuple of cotangents, one for each primal
      argument.

    Raises:
      TypeError: ``fun`` is not callable, or an argument or a result is not an array.

    See Also:
      grad: for functions with a scalar result.
      linearize: the derivative itself.

    Example:
      >>> from olympus_ir import lax
      >>> y, f_vjp = vjp(lambda x, y: lax.mul(x, y), 3.0, 2.0)
      >>> f_vjp(1.0)
      (Array(2., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True))
    """
    check_function(fun)
    check_reduce_axes("vjp", reduce_axes)
    point = linearize_at(fun, primals, has_aux)
    results, tangents, out_tree = point.outputs()
    tangent_trace = point.trace.tangent_trace
    outvars = [
        None if tangent.__class__ is Zero else tangent_trace.atom(tangent) for tangent in tangents
    ]
    function = VJP(
        live_equations(tangent_trace.equations, [var for var in outvars if var is not None]),
        tangent_trace.invars,
        outvars,
        [_tangent_aval(aval_of(value)) for value in point.inputs],
        [aval_of(result).to_tangent_aval() for result in results],
        point.in_tree,
        out_tree,
        fun,
    )
    primals_out = pytrees.tree_unflatten(out_tree, results)
    return (primals_out, function, point.aux) if has_aux else (primals_out, function)


def fwd_and_bwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Splits a function into its forward and its backward pass.

    Args:
      fun: the function to differentiate.
      argnums: the positions of the arguments to differentiate with respect to.
      has_aux: whether ``fun`` returns a pair; only the first part is differentiated.
      jitted: whether both functions are compiled.

    Returns:
      ``forward(*args) -> (result, residuals)``, or ``(result, residuals, aux)``; and
      ``backward(residuals, cotangent)``, which returns one cotangent if ``argnums`` is an integer,
      else a tuple.

    Example:
      >>> from olympus_ir import lax
      >>> forward, backward = fwd_and_bwd(lambda x: lax.mul(x, x), argnums=0, jitted=False)
      >>> y, residuals = forward(3.0)
      >>> backward(residuals, 1.0)
      Array(6., dtype=float32, weak_type=True)
    """
    check_function(fun)
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

# SPDX-License-Identifier: Apache-2.0
"""Fusion of operations into the function that they surround: `fusible`, `fuse`, `Fusion`."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.dead_code import dce_closed
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Literal, Olympuspr, close_olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.references.discharge import discharge_closed
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import get_aval

from .customized import custom_fusion_p, run_custom
from .inlining import aval_of, run_program, traced

__all__ = [
    "Fusion",
    "evaluate",
    "fuse",
    "fusible",
    "fusible_p",
    "get_fusion_values",
    "get_stateful_input_fusion_values",
    "get_stateful_output_fusion_values",
]

fusible_p = Primitive.declare("fusible", multiple_results=True, cache_inference=False)


@fusible_p.def_abstract_eval
def _fusible_types(*avals: Any, jaxpr: Any, **params: Any) -> Any:
    return [atom.aval for atom in jaxpr.outvars]


@expansion_rules.define(fusible_p)
def _expand(*operands: Any, jaxpr: Any, num_consts: int, **params: Any) -> list[Any]:
    return run_program(jaxpr, operands[:num_consts], operands[num_consts:])


@dataclasses.dataclass
class Fusion:
    """A function that computes an input of a kernel, or that takes the kernel's output.

    Args:
      func: the function.
      in_type: the types of the function's arguments, ``(args, kwargs)``.
      out_type: the types of the function's results.
      strict_mode: whether the block indices of an array that several operations use must be equal.
    """

    func: Callable[..., Any]
    in_type: tuple[tuple[Any, ...], dict[str, Any]]
    out_type: Any
    strict_mode: bool = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)

    @property
    def shape(self) -> Any:
        """The shapes of the results."""
        return pytrees.tree_map(lambda aval: aval.shape, self.out_type)

    @property
    def dtype(self) -> Any:
        """The dtypes of the results."""
        return pytrees.tree_map(lambda aval: aval.dtype, self.out_type)

    @property
    def type(self) -> Any:
        """The types of the results."""
        return self.out_type

    @property
    def in_shape(self) -> Any:
        """The shapes of the arguments."""
        return pytrees.tree_map(lambda aval: aval.shape, self.in_type)

    @property
    def in_dtype(self) -> Any:
        """The dtypes of the arguments."""
        return pytrees.tree_map(lambda aval: aval.dtype, self.in_type)


def fusible(f: Any = None, *, output_fusion_prefix: Any = True) -> Any:
    """Marks a function whose arguments are fusions, so that `fuse` finds it.

    Args:
      f: takes a `Fusion` for each input, then one for all outputs, or None if no operation follows.
        If there is a fusion of the outputs, ``f`` returns the result of that fusion, a tuple.
      output_fusion_prefix: must be True: there is one fusion for all outputs.

    Returns:
      A function of arrays. Outside of `fuse`, the fusions of its inputs return the arrays
      unchanged.

    Raises:
      ValueError: ``output_fusion_prefix`` is not True.

    Example:
      >>> import numpy as np
      >>> from olympus_pallas import fuser
      >>> @fuser.fusible
      ... def total(x, output):
      ...     result = x().sum()
      ...     return result if output is None else output(result)
      >>> fuser.fuse(lambda x: total(2 * x) + 1)(np.arange(4))
      Array(13, dtype=int32)
    """
    if f is None:
        return functools.partial(fusible, output_fusion_prefix=output_fusion_prefix)
    if output_fusion_prefix is not True:
        raise ValueError(
            "a fusible function has one fusion for all of its outputs (output_fusion_prefix=True), "
            f"got {output_fusion_prefix!r}"
        )

    @functools.wraps(f)
    def wrapper(*args: Any) -> Any:
        def plain(*operands: Any) -> Any:
            return f(*[_trivial(operand) for operand in operands], None)

        leaves, in_tree = pytrees.tree_flatten(args)
        program, consts, out_tree = traced(plain, args, {})
        results = fusible_p.bind(
            *consts,
            *leaves,
            jaxpr=program,
            num_consts=len(consts),
            in_tree=in_tree,
            out_tree=out_tree,
            func=f,
            output_fusion_prefix=output_fusion_prefix,
        )
        return pytrees.tree_unflatten(out_tree, results)

    return wrapper


def _trivial(operand: Any) -> Fusion:
    return Fusion(lambda: operand, ((), {}), pytrees.tree_map(aval_of, operand))


def fuse(
    f: Any = None,
    *,
    resolve_fusion_dtypes: bool = True,
    debug: bool = False,
    strict_mode: bool = True,
) -> Any:
    """Moves the operations around a fusible function into the fusible function.

    Args:
      f: a function that calls one fusible function. The operations that compute the inputs of the
        fusible function become fusions, and so do the operations on its outputs.
      resolve_fusion_dtypes: has no effect, because fusions have no dtypes of their own.
      debug: whether to print the function's program.
      strict_mode: whether the block indices of an array that several operations use must be equal.

    Returns:
      The function as a single call of the fusible function. The call contains all other operations.

    Raises:
      ValueError: if ``f`` calls no fusible function.
    """
    if f is None:
        return functools.partial(
            fuse,
            resolve_fusion_dtypes=resolve_fusion_dtypes,
            debug=debug,
            strict_mode=strict_mode,
        )

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        program, consts, out_tree = traced(f, args, kwargs)
        if debug:
            print(f"\nThe olympuspr to be fused:\n{program}")
        operands = pytrees.tree_leaves((args, kwargs))
        results = _fused(program, [*consts, *operands], strict_mode)
        return pytrees.tree_unflatten(out_tree, results)

    return wrapper


def _fused(program: Olympuspr, operands: Sequence[Any], strict_mode: bool) -> list[Any]:
    positions = [n for n, equation in enumerate(program.eqns) if equation.primitive is fusible_p]
    if not positions:
        raise ValueError("a function to be fused calls one fusible function, this one calls none")
    chosen = program.eqns[positions[0]]
    before, after = program.eqns[: positions[0]], program.eqns[positions[0] + 1 :]
    known = dict(zip([*program.constvars, *program.invars], operands, strict=True))
    dependent = set(chosen.outvars)
    for equation in after:
        if any(atom in dependent for atom in equation.invars if atom.__class__ is not Literal):
            dependent.update(equation.outvars)
    # Equations that do not depend on the fusible function's outputs can run before it.
    independent = [
        equation for equation in after if not any(var in dependent for var in equation.outvars)
    ]
    available = [*before, *independent]

    def compute(atoms: Sequence[Any]) -> list[Any]:
        needed = _slice(available, atoms, known)
        piece = program.replace(constvars=[], invars=list(known), outvars=list(atoms), eqns=needed)
        return run_program(piece, [], list(known.values()))

    params = chosen.params
    count = params["num_consts"]
    input_atoms = pytrees.tree_unflatten(params["in_tree"], chosen.invars[count:])
    fusions = [_input_fusion(compute, atoms, strict_mode) for atoms in input_atoms]
    outputs = [
        atom for atom in program.outvars if atom.__class__ is not Literal and atom in dependent
    ]
    is_plain = outputs == list(chosen.outvars) == list(program.outvars)
    output = None
    if not is_plain:
        rest = [equation for equation in after if any(var in dependent for var in equation.outvars)]
        output = _output_fusion(chosen, rest, outputs, known, compute, strict_mode)
    leaves = pytrees.tree_leaves(params["func"](*fusions, output))
    results = dict(zip(outputs, leaves, strict=True))
    others = [atom for atom in program.outvars if _key(atom) not in results]
    more = dict(zip(map(id, others), compute(others), strict=True))
    return [results.get(_key(atom), more.get(id(atom))) for atom in program.outvars]


def _key(atom: Any) -> Any:
    return None if atom.__class__ is Literal else atom


def _slice(equations: Sequence[Any], atoms: Sequence[Any], known: dict[Any, Any]) -> list[Any]:
    """Returns the equations that compute given atoms."""
    required = {atom for atom in atoms if atom.__class__ is not Literal and atom not in known}
    needed = []
    for equation in reversed(equations):
        if any(var in required for var in equation.outvars):
            needed.append(equation)
            required.update(
                atom
                for atom in equation.invars
                if atom.__class__ is not Literal and atom not in known
            )
    return needed[::-1]


def _input_fusion(compute: Callable[..., Any], atoms: Any, strict_mode: bool) -> Fusion:
    leaves, tree = pytrees.tree_flatten(atoms)

    def func() -> Any:
        return pytrees.tree_unflatten(tree, compute(leaves))

    types = pytrees.tree_unflatten(tree, [atom.aval for atom in leaves])
    return Fusion(func, ((), {}), types, strict_mode)


def _output_fusion(
    chosen: Any,
    equations: Sequence[Any],
    outputs: Sequence[Any],
    known: dict[Any, Any],
    compute: Callable[..., Any],
    strict_mode: bool,
) -> Fusion:
    """Returns the fusion of the outputs: the operations that follow the fusible function."""
    made = {var for equation in equations for var in equation.outvars} | set(chosen.outvars)
    others: dict[Any, Any] = {}
    for equation in equations:
        for atom in equation.invars:
            if atom.__class__ is not Literal and atom not in made:
                others.setdefault(atom)
    values = compute(list(others))
    out_tree = chosen.params["out_tree"]
    program = Olympuspr(
        (),
        [*others, *chosen.outvars],
        list(outputs),
        list(equations),
        frozenset(),
        DebugInfo.of("fusion", None),
    )

    def func(*args: Any) -> Any:
        leaves = pytrees.tree_leaves(args)
        return tuple(run_program(program, [], [*values, *leaves]))

    avals = pytrees.tree_unflatten(out_tree, [var.aval for var in chosen.outvars])
    in_type = (avals if isinstance(avals, tuple) else (avals,), {})
    types = tuple(atom.aval for atom in outputs)
    return Fusion(func, in_type, types, strict_mode)


def evaluate(f: Callable[..., Any], *, allow_transpose: bool = True) -> Callable[..., Any]:
    """Returns the function with its fusible functions and custom fusions evaluated on arrays.

    Args:
      f: the function.
      allow_transpose: whether the function may transpose arrays.

    Raises:
      ValueError: if the function transposes arrays, and ``allow_transpose`` is False.
    """

    def transposed(equation: Any, operands: Sequence[Any]) -> Any:
        raise ValueError("the function transposes an array, but allow_transpose is False")

    rules: dict[Primitive, Any] = {
        fusible_p: lambda equation, operands: _expand(*operands, **equation.params),
        custom_fusion_p: run_custom,
    }
    if not allow_transpose:
        rules[lax.transpose_p] = transposed

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        program, consts, out_tree = traced(f, args, kwargs)
        operands = pytrees.tree_leaves((args, kwargs))
        return pytrees.tree_unflatten(out_tree, run_program(program, consts, operands, rules))

    return wrapper


def get_fusion_values(fusion: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple:
    """Returns a fusion as a function of the arrays that it reads, and these arrays.

    Args:
      fusion: a `Fusion`, or any function that closes over arrays.
      *args: the types of the fusion's arguments.
      **kwargs: the types of the fusion's keyword arguments.

    Returns:
      Three things: a function ``new(values, *args, **kwargs)``; the values, a tuple of arrays; and
      an empty tuple, which holds prefetched scalars in JAX.

    Raises:
      ValueError: the fusion closes over references.

    Example:
      >>> import numpy as np
      >>> x = np.arange(4)
      >>> from olympus_ir.programs.jit import jit
      >>> @jit
      ... def total(x):
      ...     function, values, _ = get_fusion_values(lambda: 2 * x)
      ...     return function(values).sum()
      >>> total(x)
      Array(12, dtype=int32)
    """
    closed, values, out_tree = _with_values(fusion, args, kwargs)
    if any(get_aval(value).is_ref for value in values):
        raise ValueError(
            "the fusion reads or writes references: use `get_stateful_input_fusion_values` or "
            "`get_stateful_output_fusion_values` in place of `get_fusion_values`"
        )
    return _function_of_values(closed, out_tree), values, ()


def _with_values(
    fusion: Callable[..., Any], args: tuple, kwargs: dict[str, Any]
) -> tuple[ClosedOlympuspr, tuple, Any]:
    """Returns the program of a fusion, whose first inputs are the values that it reads."""
    program, consts, out_tree = traced(fusion, args, kwargs)
    inputs = [*program.constvars, *program.invars]
    closed = close_olympuspr(program.replace(constvars=[], invars=inputs))
    return closed, tuple(consts), out_tree


def _function_of_values(closed: ClosedOlympuspr, out_tree: Any) -> Callable[..., Any]:
    def new(values: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        operands = [*values, *pytrees.tree_leaves((args, kwargs))]
        results = run_program(closed.jaxpr, closed.consts, operands)
        return pytrees.tree_unflatten(out_tree, results)

    return new


def get_stateful_input_fusion_values(
    fusion: Callable[..., Any], *args: Any, **kwargs: Any
) -> tuple[Callable[..., Any], tuple, tuple]:
    """Returns a fusion as a function of the values that it reads, and these values.

    In place of a reference, the function takes the array that the reference holds. It computes only
    the results of the fusion, and leaves out the writes to references.

    Args:
      fusion: a `Fusion`, or any function that closes over arrays and references.
      *args: the types of the fusion's arguments.
      **kwargs: the types of the fusion's keyword arguments.

    Returns:
      Three things: a function ``new(values, *args, **kwargs)``; the values, a tuple of arrays and
      references; and an empty tuple, which holds prefetched scalars in JAX.

    Example:
      >>> import numpy as np
      >>> from olympus_ir.references.primitives import new_ref
      >>> scale = new_ref(np.float32(3))
      >>> function, (ref,), _ = get_stateful_input_fusion_values(lambda x: x * scale[...],
      ...     np.float32(2))
      >>> function((ref[...],), np.float32(2))
      Array(6., dtype=float32)
    """
    closed, values, out_tree = _with_values(fusion, args, kwargs)
    discharged = discharge_closed(closed)
    pure, count = discharged.closed.jaxpr, discharged.num_results
    live = [position < count for position in range(len(pure.outvars))]
    needed = [position >= len(values) for position in range(len(pure.invars))]
    reduced, used = dce_closed(discharged.closed, live, needed)
    kept = tuple(value for value, is_used in zip(values, used, strict=False) if is_used)
    return _function_of_values(reduced, out_tree), kept, ()


def get_stateful_output_fusion_values(
    fusion: Callable[..., Any], *args: Any, **kwargs: Any
) -> tuple[Callable[..., Any], tuple, tuple, dict[int, int]]:
    """Returns a fusion as a function of the values that it reads or writes, and these values.

    In place of a reference, the function takes the array that the reference holds. It returns the
    results of the fusion, followed by the new contents of the references that the fusion writes.

    Args:
      fusion: a `Fusion`, or any function that closes over arrays and references.
      *args: the types of the fusion's arguments.
      **kwargs: the types of the fusion's keyword arguments.

    Returns:
      Four things: a function ``new(values, *args, **kwargs)``; the values, a tuple of arrays and
      references; an empty tuple, which holds prefetched scalars in JAX; and a dictionary. The
      function returns the fusion's result or, if the fusion writes references, the pair of this
      result and a tuple of the new contents. The dictionary maps the position of each new content
      among the function's flat results to the position of the reference among the values.

    Example:
      >>> import numpy as np
      >>> from olympus_ir.references.primitives import new_ref
      >>> total = new_ref(np.float32(3))
      >>> def add(x):
      ...     total[...] += x
      ...     return 2 * x
      >>> function, values, _, aliases = get_stateful_output_fusion_values(add, np.float32(1))
      >>> function((total[...],), np.float32(1))
      (Array(2., dtype=float32), (Array(4., dtype=float32),))
      >>> aliases
      {1: 0}
    """
    closed, values, out_tree = _with_values(fusion, args, kwargs)
    discharged = discharge_closed(closed)
    pure, count = discharged.closed.jaxpr, discharged.num_results
    written = [place for place in discharged.written if place < len(values)]
    outputs = [*pure.outvars[:count], *map(discharged.last_value, written)]
    if written:
        tree = pytrees.tree_structure(tuple([0] * len(written)))
        out_tree = pytrees.treedef_tuple((out_tree, tree))
    whole = ClosedOlympuspr(pure.replace(outvars=outputs), discharged.closed.consts)
    function = _function_of_values(whole, out_tree)
    aliases = {count + index: place for index, place in enumerate(written)}
    return function, values, (), aliases

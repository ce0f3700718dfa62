# SPDX-License-Identifier: Apache-2.0
"""Composite operations: named functions that a compiler may implement itself."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from ...diagnostics.errors import UnexpectedTracerError
from ...diagnostics.traceback_filtering import api_boundary
from ...programs.evaluation import eval_olympuspr
from ...programs.olympuspr import ClosedOlympuspr
from ...programs.primitives import instruction
from ...programs.staging import trace_to_closed
from ...programs.tracing import Tracer
from ...settings.naming import naming
from ...trees import pytrees
from ...trees.flattening import FlatFunction, debug_info_of_tree
from ...types.avals import AbstractValue, get_aval
from ..core.values import as_array

__all__ = ["composite", "composite_p"]

# *outs = composite[attributes jaxpr name version] *operands
# The attributes are triples of a name, the leaves and the structure of a value.
composite_p = instruction("composite", multiple_results=True, family="calls", cache_inference=False)
composite_p.spreads_varying = False


@composite_p.def_effectful_abstract_eval
def _composite_types(
    *operands: AbstractValue, jaxpr: ClosedOlympuspr, **params: Any
) -> tuple[list[AbstractValue], frozenset]:
    return jaxpr.out_avals, jaxpr.effects


# Outside of tracing, run the decomposition equation by equation.
@composite_p.def_impl
def _run_decomposition(*operands: Any, jaxpr: ClosedOlympuspr, **params: Any) -> list[Any]:
    results = eval_olympuspr(jaxpr.jaxpr, jaxpr.consts, *operands)
    return [as_array(result) for result in results]


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """Turns a function into one named operation of the compiled program.

    A compiler that recognizes the name may use its own implementation. Other compilers run the
    decomposition. Batching and differentiation replace the operation by its decomposition.

    Args:
      decomposition: the function, of arrays or pytrees of arrays. It must not close over traced
        values.
      name: the name of the operation, such as ``"my.softmax"``.
      version: the version of the operation's definition.

    Returns:
      A function of the same positional arguments. Keyword arguments become attributes of the
      operation: numbers, strings, NumPy arrays, or lists and dictionaries of them.

    Raises:
      UnexpectedTracerError: at a call, if ``decomposition`` closes over a traced value or an
        attribute is traced.

    Example:
      >>> from olympus_ir import lax
      >>> doubled = composite(lambda x, *, by: lax.mul(x, by), "my.scale")
      >>> doubled(3.0, by=2.0)
      Array(6., dtype=float32, weak_type=True)
    """

    version = operator.index(version)

    @api_boundary
    @functools.wraps(decomposition)
    def of_arguments(*args: Any, **attributes: Any) -> Any:
        if any(isinstance(value, Tracer) for value in pytrees.tree_leaves(attributes)):
            raise UnexpectedTracerError(
                "Found an OLYMPUS Tracer as an attribute in the decomposition for the composite op "
                f"'{name}'. Attributes are known when the program is compiled. Note: If you are "
                "passing olympus arrays as attributes, use numpy arrays instead."
            )
        leaves, tree = pytrees.tree_flatten((args, {}))
        avals = tuple([get_aval(leaf) for leaf in leaves])

        def decomposed(*args: Any) -> Any:
            return decomposition(*args, **attributes)

        flat = FlatFunction(decomposed, tree)
        closed = trace_to_closed(flat, avals, debug_info_of_tree("composite", decomposition, tree))
        if any(isinstance(value, Tracer) for value in closed.consts):
            raise UnexpectedTracerError(
                f"Found {naming.a_library} Tracer as a constant in the decomposition for the "
                "composite op "
                f"'{name}'. This means that the decomposition function closes over a value that is "
                "involved in a transformation. Any values that aren't explicitly known at compile "
                "time must be explicitly passed as arguments to the composite."
            )
        results = composite_p.bind(
            *leaves,
            name=name,
            version=version,
            attributes=tuple(
                (key, tuple(pytrees.tree_leaves(value)), pytrees.tree_structure(value))
                for key, value in attributes.items()
            ),
            jaxpr=closed,
        )
        return pytrees.tree_unflatten(flat.out_tree, results)

    return of_arguments

# SPDX-License-Identifier: Apache-2.0
"""`sparsify`: applies functions of dense arrays to sparse arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import function_name
from olympus_ir.trees.pickled_functions import travels

from . import control_flow, elementwise, structure  # noqa: F401 - they fill the table of rules
from .interpreter import is_sparse, run_function
from .tracer import call_with_tracers

__all__ = ["sparsify"]


@travels
def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Transforms a function of dense arrays so that it takes BCOO and BCSR arrays.

    Each operation with sparse operands becomes the corresponding sparse operation. Operations whose
    result would be dense raise an error.

    Args:
      f: the function.
      use_tracer: whether to run the function on tracers of sparse arrays, operation by operation.
        By default the function is traced to a program. Functions with control flow and compiled
        functions need the default.

    Returns:
      A function of dense and sparse arrays, with dense and sparse results.

    Raises:
      NotImplementedError: an operation has no rule for sparse arrays.

    Example:
      >>> import numpy as np
      >>> import olympus_numpy as jnp
      >>> from olympus_sparse import BCOO, sparsify
      >>> mat = BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]], np.float32))
      >>> sparsify(lambda x: jnp.sin(x) * 2)(mat)
      BCOO(float32[2, 2], nse=2)
    """
    if not callable(f):
        raise TypeError(f"sparsify takes a function, got {f!r} of type {type(f).__name__}")
    if use_tracer:
        return call_with_tracers(f)

    @api_boundary
    @functools.wraps(f)
    def sparsified(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = pytrees.tree_flatten((args, kwargs), is_leaf=is_sparse)
        positional = len(pytrees.tree_leaves(args, is_leaf=is_sparse))
        # Keyword arguments that are not arrays, such as ``axis=0``, are not traced.
        options = [
            position
            for position, leaf in enumerate(leaves)
            if position >= positional and not _is_array(leaf)
        ]
        traced = [leaf for position, leaf in enumerate(leaves) if position not in options]
        out_tree: Any = None

        def flat(*values: Any) -> Sequence[Any]:
            nonlocal out_tree
            rest = iter(values)
            full = [
                leaf if position in options else next(rest) for position, leaf in enumerate(leaves)
            ]
            full_args, full_kwargs = pytrees.tree_unflatten(in_tree, full)
            out, out_tree = pytrees.tree_flatten(f(*full_args, **full_kwargs))
            return out

        flat.__name__ = function_name(f)
        results = run_function(flat, [_marked(leaf) for leaf in traced])
        return pytrees.tree_unflatten(out_tree, results)

    return sparsified


def _is_array(value: Any) -> bool:
    # Scalar types such as ``bfloat16`` and dtypes have an attribute ``dtype`` but no shape.
    return is_sparse(value) or (hasattr(value, "dtype") and not isinstance(value, type | np.dtype))


def _marked(value: Any) -> Any:
    """Returns a copy of a sparse array with a new object ``_places``, which marks its coordinates.

    Arrays that are computed from the copy and have the same coordinates may keep the object.
    """
    if not is_sparse(value):
        return value
    copy = value._with_data(value.data)
    copy._places = object()
    return copy

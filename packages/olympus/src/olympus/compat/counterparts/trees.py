# SPDX-License-Identifier: Apache-2.0
"""Vector arithmetic on pytrees, under the names of JAX's private module of iterative solvers."""

from __future__ import annotations

import functools
import operator
from typing import Any

from olympus import numpy as jnp
from olympus_ir.trees import pytrees

__all__ = [
    "add",
    "identity",
    "multiply",
    "norm",
    "subtract",
    "treedef_is_strict_leaf",
    "vdot_real_tree",
    "vdot_tree",
]

add = functools.partial(pytrees.tree_map, operator.add)
subtract = functools.partial(pytrees.tree_map, operator.sub)


def multiply(scalar: Any, tree: Any) -> Any:
    """Multiplies the leaves of a pytree by a scalar."""
    return pytrees.tree_map(functools.partial(operator.mul, scalar), tree)


def identity(x: Any) -> Any:
    """Returns the argument."""
    return x


def vdot_tree(x: Any, y: Any) -> Any:
    """Returns the inner product of two pytrees; the first is conjugated."""
    products = pytrees.tree_map(functools.partial(jnp.vdot, precision="highest"), x, y)
    return sum(pytrees.tree_leaves(products))


def vdot_real_tree(x: Any, y: Any) -> Any:
    """Returns the real part of the inner product of two pytrees."""
    return jnp.real(vdot_tree(x, y))


def norm(x: Any) -> Any:
    """Returns the Euclidean norm of a pytree."""
    return jnp.sqrt(vdot_real_tree(x, x))


def treedef_is_strict_leaf(treedef: Any) -> bool:
    """Returns whether a structure is a single leaf; a node without leaves is not."""
    return treedef.num_nodes == 1 and treedef.num_leaves == 1

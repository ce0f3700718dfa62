# SPDX-License-Identifier: Apache-2.0
"""Records what jax 0.10.2 computes for the functions of derivative_cases.py.

Run with the interpreter of an environment that has jax 0.10.2:

    python record_derivatives.py > derivatives.json

For each case: the ``result``, the tangent (``jvp``), the cotangents (``vjp``), the derivative of
the gradient along a direction (``second``), each as a list of leaves, and the number of
``equations`` of the program of the vjp. Directions are those of `directions.py`. A derivative that
JAX refuses is recorded as the type of the error.
"""

import json
import sys
import types
import warnings

import derivative_cases
import directions
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

warnings.simplefilter("ignore")

LIBRARY = types.SimpleNamespace(
    lax=lax,
    jit=jax.jit,
    vmap=jax.vmap,
    jvp=jax.jvp,
    checkpoint=jax.checkpoint,
    custom_jvp=jax.custom_jvp,
    custom_vjp=jax.custom_vjp,
)


def count_equations(jaxpr):
    count = len(jaxpr.eqns)
    for equation in jaxpr.eqns:
        for value in equation.params.values():
            for item in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(item, "jaxpr", item)
                if hasattr(inner, "eqns"):
                    count += count_equations(inner)
    return count


def leaves_of(tree):
    return [directions.encoded(np.asarray(leaf)) for leaf in jax.tree.leaves(tree)]


def attempt(function):
    try:
        return leaves_of(function())
    except Exception as error:
        return type(error).__name__


def record(fun, args):
    result = fun(*args)
    tangents = directions.tangents(args)
    leaves, tree = jax.tree.flatten(result)
    weights = directions.cotangents([np.asarray(leaf) for leaf in leaves])
    cotangent = jax.tree.unflatten(tree, weights)

    def pulled_back(*args):
        return jax.vjp(fun, *args)[1](cotangent)

    def weighted_sum(*args):
        total = jnp.float32(0)
        for leaf, weight in zip(jax.tree.leaves(fun(*args)), weights, strict=True):
            if jnp.issubdtype(leaf.dtype, jnp.inexact):
                total += jnp.sum(jnp.real(leaf * weight)).astype(jnp.float32)
        return total

    found = {
        "result": leaves_of(result),
        "jvp": attempt(lambda: jax.jvp(fun, args, tangents)[1]),
        "vjp": attempt(lambda: pulled_back(*args)),
    }
    if isinstance(found["vjp"], list):
        found["equations"] = count_equations(jax.make_jaxpr(pulled_back)(*args).jaxpr)
    if all(np.asarray(arg).dtype.kind == "f" for arg in args):
        gradient = jax.grad(weighted_sum, argnums=tuple(range(len(args))))
        found["second"] = attempt(lambda: jax.jvp(gradient, args, tangents)[1])
    return found


CASES = derivative_cases.build(LIBRARY)
records = {name: record(fun, args) for name, (fun, args) in CASES.items()}
lines = [f" {json.dumps(name)}: {json.dumps(found)}" for name, found in records.items()]
sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")

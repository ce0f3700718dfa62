# SPDX-License-Identifier: Apache-2.0
"""Functions of a module, of the kinds that pickle, and what to call them with."""

import functools
import pickle

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.experimental import sparse

X = np.linspace(-1, 1, 6, dtype=np.float32)
WEIGHTS = np.linspace(0, 1, 6, dtype=np.float32)


def plain(x):
    return (jnp.sin(x) ** 2).sum()


@olympus.jit
def decorated(x):
    return jnp.cos(x) * 2


@functools.partial(olympus.jit, static_argnums=1)
def with_static(x, n):
    return x * n


@olympus.custom_jvp
def with_jvp(x):
    return jnp.sin(x)


@with_jvp.defjvp
def _jvp(primals, tangents):
    return with_jvp(primals[0]), 3 * tangents[0]


@olympus.custom_vjp
def with_vjp(x):
    return jnp.sin(x)


with_vjp.defvjp(lambda x: (with_vjp(x), x), lambda x, cotangent: (5 * cotangent,))


@olympus.custom_rule
def with_rule(x):
    return 2 * x


@with_rule.def_jvp
def _rule(primals, tangents):
    return with_rule(primals[0]), 7 * tangents[0]


@olympus.custom_batching.custom_vmap
def with_batching(x):
    return x + 1


@with_batching.def_vmap
def _batched(size, in_batched, x):
    return x + 2, in_batched[0]


def scanned(x):
    return lax.scan(lambda carry, y: (carry + y, carry * y), 0.0, x)


def halved(x):
    while x > 0.1:
        x = x / 2
    return x


def affine(weights, x):
    return x * weights + 1


def total(x):
    return lax.psum(x.sum(), "i")


def sum_of(function, x):
    return function(x).sum()


class Model:
    def __init__(self, weights):
        self.weights = jnp.asarray(weights)

    @functools.partial(olympus.jit, static_argnums=0)
    def __call__(self, x):
        return x * self.weights


def functions():
    """Returns the functions by name, each with its arguments and the value that it must have."""
    cosine = np.cos(X)
    frozen = olympus.freeze(affine, WEIGHTS, X, weights=0)
    mesh = olympus.make_mesh((1,), ("i",), axis_types=(olympus.sharding.AxisType.Auto,))
    part = olympus.P("i")
    return {
        "jit": (decorated, (X,), 2 * cosine),
        "jit of a plain function": (olympus.jit(plain), (X,), (np.sin(X) ** 2).sum()),
        "jit with static arguments": (with_static, (X, 3), 3 * X),
        "grad": (olympus.grad(plain), (X,), np.sin(2 * X)),
        "value_and_grad": (olympus.value_and_grad(plain, 0), (X,), None),
        "jit of vmap of grad": (
            olympus.jit(olympus.vmap(olympus.grad(plain))),
            (X[None],),
            np.sin(2 * X)[None],
        ),
        "jacfwd": (olympus.jacfwd(decorated), (X,), np.diag(-2 * np.sin(X))),
        "jacrev": (olympus.jacrev(decorated), (X,), np.diag(-2 * np.sin(X))),
        "hessian": (olympus.hessian(plain), (X,), np.diag(2 * np.cos(2 * X))),
        "checkpoint": (olympus.checkpoint(plain), (X,), (np.sin(X) ** 2).sum()),
        "vectorize": (jnp.vectorize(plain, signature="(n)->()"), (np.stack([X, X]),), None),
        "custom_jvp": (olympus.vmap(olympus.grad(with_jvp)), (X,), np.full(6, 3.0)),
        "custom_vjp": (olympus.vmap(olympus.grad(with_vjp)), (X,), np.full(6, 5.0)),
        "custom_rule": (olympus.vmap(olympus.grad(with_rule)), (X,), np.full(6, 7.0)),
        "custom_vmap": (olympus.vmap(with_batching), (X,), X + 2),
        "checked": (olympus.checked(plain), (X,), (np.sin(X) ** 2).sum()),
        "sparsify": (sparse.sparsify(plain), (X,), (np.sin(X) ** 2).sum()),
        "sparse_jacobian": (
            sparse.sparse_jacobian(decorated, format="dense"),
            (X,),
            np.diag(-2 * np.sin(X)),
        ),
        "pmap": (olympus.pmap(decorated), (X[None],), 2 * cosine[None]),
        "bucketed": (olympus.bucketed(plain), (X,), (np.sin(X) ** 2).sum()),
        "named_call": (olympus.named_call(plain, name="wave"), (X,), (np.sin(X) ** 2).sum()),
        "control flow": (olympus.jit(halved, control_flow=True), (X[0],), None),
        "scan": (olympus.jit(scanned), (X,), None),
        "partial over an array": (
            functools.partial(affine, jnp.asarray(WEIGHTS)),
            (X,),
            X * WEIGHTS + 1,
        ),
        "Partial of a jitted function": (
            olympus.tree_util.Partial(sum_of, decorated),
            (X,),
            2 * cosine.sum(),
        ),
        "pushforward of linearize": (olympus.linearize(decorated, X)[1], (X,), None),
        "frozen": (frozen, (X,), X * WEIGHTS + 1),
        "shard_map": (
            olympus.shard_map(total, mesh=mesh, in_specs=part, out_specs=olympus.P()),
            (X,),
            X.sum(),
        ),
        "grad of shard_map": (
            olympus.jit(
                olympus.grad(
                    olympus.shard_map(total, mesh=mesh, in_specs=part, out_specs=olympus.P())
                )
            ),
            (X,),
            np.ones(6),
        ),
        "jit with shardings": (
            olympus.jit(plain, in_shardings=olympus.NamedSharding(mesh, part)),
            (X,),
            (np.sin(X) ** 2).sum(),
        ),
        "closure_convert": (
            olympus.closure_convert(lambda x: jnp.cos(x) * WEIGHTS, X)[0],
            (X,),
            cosine * WEIGHTS,
        ),
    }


def compiled():
    """Returns functions compiled for this machine, for a process with the same devices."""
    return {
        "compiled": (decorated.lower(X).compile(), (X,), 2 * np.cos(X)),
        "exported": (exported_call, (olympus.export.export(decorated)(X), X), 2 * np.cos(X)),
    }


def exported_call(exported, x):
    return exported.call(x)


def call(function, arguments):
    """Calls a function in a worker; returns NumPy arrays."""
    return olympus.tree.map(np.asarray, function(*arguments))


def call_pickled(contents):
    """Calls a pickled function in a worker; returns NumPy arrays."""
    return call(*pickle.loads(contents))

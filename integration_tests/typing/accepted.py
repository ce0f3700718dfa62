# SPDX-License-Identifier: Apache-2.0
"""Typical lines of programs, with the types that checkers find. Checked, never run."""

# pyright: reportUnknownMemberType=true, reportUnknownVariableType=true

from __future__ import annotations

from typing import Any, NamedTuple, assert_type

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import Array, grad, jit, lax, random, value_and_grad, vmap
from olympus.example_libraries import optimizers
from olympus.typing import ArrayLike, DTypeLike, PyTree, Shape

# Arrays.
x = jnp.ones((3, 4))
assert_type(x, Array)
assert_type(jnp.zeros(3, dtype=jnp.int32), Array)
assert_type(jnp.array([1.0, 2.0]), Array)
assert_type(jnp.linspace(0, 1, 5), Array)
assert_type(jnp.linspace(0, 1, 5, retstep=True), tuple[Array, Array])
assert_type(x.shape, tuple[int, ...])
assert_type(x.dtype, np.dtype[Any])
assert_type(x.ndim, int)
assert_type(x.T, Array)
assert_type(x[0], Array)
assert_type(x[:, None, ...], Array)
assert_type(x.at[0, 1].set(2.0), Array)
assert_type(x.at[jnp.array([0, 1])].add(1), Array)
assert_type(x + 1, Array)
assert_type(2.0 * x, Array)
assert_type(x @ x.T, Array)
assert_type(-x, Array)
assert_type(x > 0, Array)
assert_type(x == x, Array)
assert_type(x.sum(axis=0), Array)
assert_type(x.reshape(2, -1), Array)
assert_type(x.astype(jnp.float32), Array)
assert_type(float(x[0, 0]), float)
assert_type(np.asarray(x)[0].sum() > 0, Any)

# Functions of the NumPy layer.
assert_type(jnp.sum(x, axis=(0, 1)), Array)
assert_type(jnp.where(x > 0, x, 0.0), Array)
assert_type(jnp.einsum("ij,kj->ik", x, x), Array)
assert_type(jnp.concatenate([x, x], axis=0), Array)
assert_type(jnp.linalg.norm(x), Array)
assert_type(jnp.fft.fft(x), Array)
assert_type(jnp.exp(np.ones(3)), Array)

# Transformations keep the signature of what they wrap.


def loss(weights: Array, inputs: Array, scale: float = 1.0) -> Array:
    """Returns a scalar."""
    return jnp.sum(jnp.tanh(inputs @ weights) * scale)


assert_type(jit(loss)(x, x.T), Array)
assert_type(vmap(loss)(x, x), Array)
assert_type(olympus.checkpoint(loss)(x, x, scale=2.0), Array)
assert_type(value_and_grad(loss)(x, x.T), tuple[Array, Any])
gradient = grad(loss)(x, x.T)


@jit
def step(weights: Array, rate: float) -> tuple[Array, Array]:
    """Returns new weights and the loss."""
    return weights - rate, jnp.sum(weights)


assert_type(step(x, 0.1), tuple[Array, Array])
lowered = step.lower(x, 0.1)


class Model(NamedTuple):
    """Weights, with a compiled method."""

    weights: Array

    @jit
    def apply(self, inputs: Array) -> Array:
        """Returns the results for inputs."""
        return inputs @ self.weights


assert_type(Model(x).apply(x.T), Array)


@olympus.custom_jvp
def cube(value: Array) -> Array:
    """Returns the third power."""
    return value**3


assert_type(cube(x), Array)

# Random numbers.
key = random.key(0)
assert_type(key, Array)
first, second = random.split(key)
assert_type(first, Array)
assert_type(random.normal(first, (3,)), Array)
assert_type(random.uniform(second, (2, 2), minval=-1.0), Array)

# Control flow, neural networks, special functions, devices.
total, history = lax.scan(lambda carry, each: (carry + each, carry), 0.0, jnp.arange(3.0))


def advance(position: Array, velocity: Array) -> tuple[Array, Array]:
    """Returns the next position twice."""
    return position + velocity, position + velocity


assert_type(lax.scan(advance, x[0], x), tuple[Array, Array])
assert_type(lax.fori_loop(0, 3, lambda i, each: jnp.sin(each), 0.5), Array)
assert_type(lax.while_loop(lambda each: jnp.max(each) < 9, lambda each: jnp.add(each, x), x), Array)
assert_type(lax.map(jnp.sin, x), Array)
chosen = lax.cond(True, lambda a: a + 1, lambda a: a - 1, x)
assert_type(olympus.nn.relu(x), Array)
assert_type(olympus.nn.softmax(x, axis=-1), Array)
assert_type(olympus.scipy.special.gammaln(x), Array)
assert_type(olympus.device_count(), int)
doubled = olympus.tree.map(lambda leaf: 2 * leaf, {"w": x})


def initialize(shape: Shape, dtype: DTypeLike = jnp.float32) -> PyTree:
    """Returns parameters."""
    return {"w": jnp.zeros(shape, dtype)}


def norm(vector: ArrayLike) -> Array:
    """Returns the length of a vector."""
    return jnp.sqrt(jnp.sum(jnp.square(vector)))


assert_type(norm(3), Array)
assert_type(norm(np.ones(2)), Array)

# Universal functions, and functions of results.
assert_type(jnp.add(x, 1), Array)
assert_type(jnp.maximum(x, 0.0), Array)
assert_type(jnp.negative(x), Array)
assert_type(jnp.copysign(x, -1), Array)
assert_type(jnp.hypot(x, x), Array)
assert_type(jnp.divmod(x, 2), tuple[Array, Array])
assert_type(jnp.atleast_2d(1.0), Array)
assert_type(jnp.add.reduce(x, axis=(0, 1)), Array)
assert_type(jnp.multiply.accumulate(x, axis=1), Array)
assert_type(jnp.subtract.outer(x, x), Array)
assert_type(jnp.maximum.reduceat(x, jnp.array([0, 1])), Array)
assert_type(jnp.add.at(x, 0, 1.0, inplace=False), Array)
assert_type(lax.sort(x), Array)
assert_type(lax.sort((x, x), num_keys=2), tuple[Array, ...])
assert_type(olympus.block_until_ready(x), Array)

# Shardings of results, precisions and filling values.
mesh = olympus.make_mesh((1,), ("rows",))
jnp.zeros((3, 4), out_sharding=olympus.P("rows"))
jnp.zeros((3, 4), out_sharding=olympus.NamedSharding(mesh, olympus.P("rows")))
jnp.dot(x, x.T, precision="highest", out_sharding=None)
jnp.matmul(x, x.T, precision=lax.Precision.HIGHEST)
jnp.nonzero(x, size=3, fill_value=(0, jnp.zeros((), int)))
jnp.take(x, jnp.array([0]), mode="fill", fill_value=float("nan"))

# Results whose kind depends on a flag.
assert_type(jnp.linalg.svd(x, compute_uv=False), Array)
left, values, right = jnp.linalg.svd(x, full_matrices=False)
assert_type(values, Array)
assert_type(jnp.linalg.qr(x).R, Array)
assert_type(jnp.linalg.qr(x, mode="r"), Array)
assert_type(jnp.average(x, axis=0), Array)
assert_type(jnp.average(x, returned=True), tuple[Array, Array])
assert_type(olympus.nn.logsumexp(x, axis=-1), Array)
assert_type(jnp.promote_types("int8", jnp.float32), np.dtype[Any])
assert_type(jnp.result_type(x, 1.0), np.dtype[Any])
assert_type(olympus.nn.initializers.glorot_uniform()(key, (2, 3)), Array)
assert_type(olympus.nn.initializers.orthogonal()(key, (2, 3)), Array)

# Decorators and functions that keep types.
assert_type(lax.stop_gradient(x), Array)
assert_type(lax.stop_gradient(Model(x)), Model)


@olympus.named_call
def layer(inputs: Array) -> Array:
    """Returns the inputs."""
    return inputs


assert_type(layer(x), Array)


@olympus.shard_map(mesh=mesh, in_specs=olympus.P("rows"), out_specs=olympus.P("rows"))
def doubled_rows(rows: Array) -> Array:
    """Returns twice the rows of one device."""
    return 2 * rows


assert_type(doubled_rows(x), Array)
mapped = olympus.shard_map(loss, mesh=mesh, in_specs=olympus.P(), out_specs=olympus.P())
assert_type(mapped(x, x), Array)

# Stages, shards and optimizers.
assert_type(step.lower(x, 0.1).as_text(), str)
assert_type(olympus.make_array_from_callback((3,), x.sharding, lambda index: np.ones(3)), Array)
optimizers.adam(optimizers.exponential_decay(0.1, 10, 0.9), b1=0.5)
optimizers.sgd(lambda iteration: 0.1 / (1 + iteration))

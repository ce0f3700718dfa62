# SPDX-License-Identifier: Apache-2.0
"""Endurance scenarios: steps that a process repeats without a lasting change of its resources.

A step receives its number and a generator of random numbers.
"""

from __future__ import annotations

import contextlib
import pickle
import random as python_random
import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import P, export, lax, random

Step = Callable[[int, python_random.Random], None]


class Scenario(NamedTuple):
    """A step, and the number of its repetitions.

    Attributes:
      step: the step.
      steps: the number of steps of a whole run, with those that fill the caches.
      warm: the number of steps until all caches are full.
    """

    step: Step
    steps: int
    warm: int


X = np.linspace(0.1, 1.0, 12, dtype=np.float32).reshape(3, 4)


def loss(x):
    return jnp.sum(jnp.tanh(x @ x.T) ** 2)


# ---- shapes ----

_flattened = olympus.jit(lambda x: x.reshape(1, -1))


def shapes(number: int, rng: python_random.Random) -> None:
    """Calls one compiled function with an operand of a new shape."""
    _flattened(np.ones(number + 1, np.float32))


def eager_shapes(number: int, rng: python_random.Random) -> None:
    """Applies operations to arrays of a new shape."""
    x = jnp.asarray(np.ones(number + 1, np.int32))
    (x + 1)[::-1]


# ---- eager operations ----


def eager(number: int, rng: python_random.Random) -> None:
    """Applies a hundred operations to arrays of a few shapes."""
    x = jnp.asarray(X)
    key = random.key(number)
    for i in range(10):
        y = jnp.sin(x) + i
        y = y.at[0, i % 4].set(1.0)
        y = jnp.where(y > 0.5, y, x)[:, ::-1]
        z = y.reshape(4, 3).T
        key, _ = random.split(key)
        x = jnp.clip(z * 0.5 + X, 0.0, 1.0)
    x.block_until_ready()


# ---- short-lived functions ----


def functions(number: int, rng: python_random.Random) -> None:
    """Creates functions, transforms and runs them, and discards them."""
    choice = rng.randrange(8)
    if choice == 0:
        olympus.jit(lambda x: loss(x))(X)
    elif choice == 1:
        olympus.jit(olympus.value_and_grad(lambda x: loss(x)))(X)
    elif choice == 2:
        olympus.jit(olympus.vmap(olympus.grad(lambda r: jnp.sum(jnp.sin(r) ** 2))))(X)
    elif choice == 3:
        olympus.grad(lambda x: lax.scan(lambda c, r: (c * r.sum(), c), 1.0, x)[0])(X)
    elif choice == 4:
        olympus.hessian(lambda r: jnp.prod(r) + jnp.sum(r**3))(X[0])
    elif choice == 5:
        olympus.grad(olympus.checkpoint(lambda x: jnp.sum(jnp.sin(jnp.sin(x)))))(X)
    elif choice == 6:
        olympus.vmap(lambda r: lax.cond(r[0] > 0.5, lambda r: r * 2, lambda r: r, r))(X)
    else:

        @olympus.custom_vjp
        def f(x):
            return jnp.sin(x)

        f.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (jnp.cos(x) * ct,))
        olympus.grad(lambda x: jnp.sum(f(x)))(X)


# ---- exceptions ----


class ExpectedError(Exception):
    """Error that a scenario raises on purpose."""


def _fail(*_: object) -> None:
    raise ExpectedError


_FAILURES = (
    lambda: olympus.jit(_fail)(X),
    lambda: olympus.grad(_fail)(X),
    lambda: olympus.vmap(olympus.grad(_fail))(X),
    lambda: olympus.jit(lambda x: lax.scan(_fail, x, None, length=3))(X),
    lambda: lax.while_loop(lambda x: True, _fail, X),
    lambda: lax.cond(True, _fail, lambda x: x, X),
    lambda: olympus.linearize(olympus.jit(_fail), X),
    lambda: olympus.checkpoint(_fail)(X),
    lambda: olympus.jit(lambda x: olympus.vmap(lambda r: _fail(r.sum()))(x))(X),
    lambda: olympus.jit(lambda x: 1 if x.sum() > 0 else 2)(X),
    lambda: olympus.jit(lambda x: olympus.pure_callback(_fail, x, x))(X).block_until_ready(),
    lambda: jnp.ones((2, 3)) @ jnp.ones((2, 3)),
    lambda: olympus.grad(lambda x: x)(X),
    lambda: olympus.jit(lambda x: x.at[_fail()].set(1))(X),
)


def exceptions(number: int, rng: python_random.Random) -> None:
    """Raises errors inside of traces, callbacks and checks."""
    try:
        rng.choice(_FAILURES)()
    except (ExpectedError, TypeError, RuntimeError):
        pass
    else:
        raise AssertionError("no error was raised")


# ---- caches ----

_kept = olympus.jit(lambda x: loss(x))


def clearing(number: int, rng: python_random.Random) -> None:
    """Clears all caches between calls of the same functions."""
    _kept(X)
    jnp.sin(jnp.asarray(X)) + 1
    olympus.grad(loss)(X)
    olympus.clear_caches()


# ---- threads ----


def threads(number: int, rng: python_random.Random) -> None:
    """Starts threads that compute under thread-local settings, and waits until they end."""

    def work(wide: bool) -> None:
        with olympus.enable_x64(wide), olympus.default_matmul_precision("highest"):
            result = jnp.sum(jnp.asarray(X.astype(np.float64))) * 2.0
            assert result.dtype == (np.float64 if wide else np.float32)
            olympus.grad(loss)(X)

    started = [threading.Thread(target=work, args=(i % 2 == 0,)) for i in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


# ---- arrays ----


def arrays(number: int, rng: python_random.Random) -> None:
    """Makes, donates, deletes and copies arrays of several megabytes."""
    x = jnp.asarray(np.full(1 << 18, number, np.float32))
    y = _doubled(x)
    del x
    with contextlib.suppress(RuntimeError):
        y.delete()
        y + 1
    z = olympus.device_put(np.ones(1 << 16))
    np.asarray(z).sum()
    pickle.loads(pickle.dumps(z[:10]))
    np.from_dlpack(z)


_doubled = olympus.jit(lambda x: x * 2, donate_argnums=0)


# ---- devices ----


def devices(number: int, rng: python_random.Random) -> None:
    """Computes over four emulated devices, with collectives."""
    mesh = olympus.sharding.Mesh(np.array(olympus.devices()), ("i",))
    rows = olympus.sharding.NamedSharding(mesh, P("i"))
    x = olympus.device_put(np.arange(8.0, dtype=np.float32), rows)
    assert float(_collected(mesh)(x)[0]) == 4 * 28 / 4
    assert float(_total(x)) == 28.0


_total = olympus.jit(jnp.sum)
_by_mesh: dict = {}


def _collected(mesh):
    if mesh not in _by_mesh:
        mean = olympus.shard_map(
            lambda x: lax.psum(x.sum(), "i")[None] + 0 * x[:1],
            mesh=mesh,
            in_specs=P("i"),
            out_specs=P("i"),
        )
        _by_mesh[mesh] = olympus.jit(mean)
    return _by_mesh[mesh]


# ---- callbacks and references ----


def _state(x):
    ref = olympus.new_ref(x)
    ref[0] = ref[1] + 1
    return olympus.pure_callback(np.copy, x, ref[...])


_stateful = olympus.jit(_state)


def callbacks(number: int, rng: python_random.Random) -> None:
    """Calls Python from compiled programs, and writes to references."""
    _stateful(X).block_until_ready()
    olympus.debug.callback(lambda x: None, X)
    olympus.effects_barrier()


# ---- files ----


def exported(number: int, rng: python_random.Random) -> None:
    """Exports a function, reads it back and calls it."""
    data = export.export(olympus.jit(lambda x: jnp.sin(x) * 2))(X).serialize()
    export.deserialize(data).call(X)


SCENARIOS = {
    "shapes": Scenario(shapes, 20_000, 6_000),
    "eager_shapes": Scenario(eager_shapes, 20_000, 6_000),
    "eager": Scenario(eager, 30_000, 400),
    "functions": Scenario(functions, 10_000, 4_000),
    "exceptions": Scenario(exceptions, 20_000, 2_000),
    "clearing": Scenario(clearing, 1_000, 300),
    "threads": Scenario(threads, 2_000, 300),
    "arrays": Scenario(arrays, 10_000, 500),
    "devices": Scenario(devices, 10_000, 500),
    "callbacks": Scenario(callbacks, 20_000, 500),
    "exported": Scenario(exported, 1_500, 400),
}

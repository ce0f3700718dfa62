# SPDX-License-Identifier: Apache-2.0
"""`bucketed` and `masked`: results and derivatives equal those without padding."""

from __future__ import annotations

import contextlib
import functools

import numpy as np
import pytest
import scipy.special

import olympus
import olympus.numpy as jnp
from olympus import lax


@contextlib.contextmanager
def compilations():
    """Counts the programs that XLA compiles meanwhile."""
    counted = []

    def listener(event, seconds, **_):
        if "backend_compile" in event:
            counted.append(event)

    olympus.monitoring.register_event_duration_secs_listener(listener)
    try:
        yield counted
    finally:
        olympus.monitoring.unregister_event_duration_listener(listener)


def close(found, expected, tolerance=2e-5):
    found, expected = (olympus.tree.leaves(each) for each in (found, expected))
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


# ---- operations of NumPy ----

WEIGHTS = np.array([0.5, -1.0, 0.25], np.float32)


def numpy_softmax(x):
    return scipy.special.softmax(x)


# Each operation as a function of the module, so that NumPy computes what is expected.
OPERATIONS = {
    "sum": lambda np, x: np.sum(x),
    "mean": lambda np, x: np.mean(x),
    "var": lambda np, x: np.var(x, ddof=1),
    "std": lambda np, x: np.std(x),
    "prod": lambda np, x: np.prod(x),
    "max": lambda np, x: np.max(x),
    "min": lambda np, x: np.min(x),
    "ptp": lambda np, x: np.ptp(x),
    "argmax": lambda np, x: np.argmax(x),
    "argmin": lambda np, x: np.argmin(x),
    "any": lambda np, x: np.any(x > 2),
    "all": lambda np, x: np.all(x > -2),
    "count_nonzero": lambda np, x: np.count_nonzero(x > 0),
    "median": lambda np, x: np.median(x),
    "quantile": lambda np, x: np.quantile(x, 0.3),
    "sort": lambda np, x: np.sort(x),
    "argsort": lambda np, x: np.argsort(x),
    "searchsorted": lambda np, x: np.searchsorted(np.sort(x), 0.1),
    "cumsum": lambda np, x: np.cumsum(x),
    "cumprod": lambda np, x: np.cumprod(x),
    "diff": lambda np, x: np.diff(x),
    "flip": lambda np, x: np.flip(x),
    "roll": lambda np, x: np.roll(x, 2),
    "last": lambda np, x: x[-1],
    "tail": lambda np, x: x[1:],
    "every other": lambda np, x: x[::2],
    "concatenate": lambda np, x: np.concatenate([x, x[:1], x]),
    "tile": lambda np, x: np.tile(x, 3),
    "repeat": lambda np, x: np.repeat(x, 2),
    "pad": lambda np, x: np.pad(x, (2, 3)),
    "pad edge": lambda np, x: np.pad(x, (2, 3), mode="edge"),
    "pad reflect": lambda np, x: np.pad(x, (1, 0), mode="reflect"),
    "dot": lambda np, x: np.dot(x, x),
    "outer": lambda np, x: np.outer(x, x),
    "kron": lambda np, x: np.kron(x, x),
    "ravel": lambda np, x: np.ravel(np.outer(x, x)),
    "convolve": lambda np, x: np.convolve(x, WEIGHTS),
    "convolve same": lambda np, x: np.convolve(x, WEIGHTS, mode="same"),
    "correlate": lambda np, x: np.correlate(x, WEIGHTS),
    "norm": lambda np, x: np.linalg.norm(x),
    "trapezoid": lambda np, x: np.trapezoid(x),
    "interp": lambda np, x: np.interp(0.1, np.sort(x), x),
    "histogram": lambda np, x: np.histogram(x, bins=4, range=(-3, 3))[0],
    "digitize": lambda np, x: np.digitize(x, np.array([-1.0, 0.0, 1.0])),
    "triu": lambda np, x: np.triu(np.outer(x, x)),
    "trace": lambda np, x: np.trace(np.outer(x, x)),
    "average": lambda np, x: np.average(x, weights=x * x),
    "cov": lambda np, x: np.cov(np.stack([x, x * x])),
    "where": lambda np, x: np.where(x > 0, x, 0),
    "arange": lambda np, x: np.arange(x.shape[0]) * x,
    "linspace": lambda np, x: np.linspace(0, 1, x.shape[0]),
    "unwrap": lambda np, x: np.unwrap(3 * x),
    "insert": lambda np, x: np.insert(x, 1, 2.0),
    "nanmean": lambda np, x: np.nanmean(np.where(x > 0, x, np.nan)),
    "meshgrid": lambda np, x: np.meshgrid(x, x)[0],
    "vander": lambda np, x: np.vander(x, 3),
    "gradient": lambda np, x: np.gradient(x),
    "einsum": lambda np, x: np.einsum("i,j->ij", x, x),
    "inverse": lambda np, x: np.linalg.inv(np.outer(x, x) + 3 * np.eye(x.shape[0])),
    "determinant": lambda np, x: np.linalg.det(np.outer(x, x) + np.eye(x.shape[0])),
    "pseudo-inverse": lambda np, x: np.linalg.pinv(np.vander(x, 2)),
    "rank": lambda np, x: np.linalg.matrix_rank(np.vander(x, 2)),
    "least squares": lambda np, x: np.linalg.lstsq(np.vander(x, 2), x * x)[0],
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_equal_numpy(name):
    operation = OPERATIONS[name]
    bucketed = olympus.bucketed(functools.partial(operation, jnp), sizes=[8, 24])
    rng = np.random.default_rng(1)
    for length in rng.integers(3, 25, 4):
        x = rng.normal(size=length).astype(np.float32)
        tolerance = 5e-3 if "linalg" in operation.__code__.co_names else 2e-5
        close(bucketed(x), operation(np, x), tolerance)


@pytest.mark.parametrize("name", ["sum", "sort", "max", "argsort", "cumsum", "any", "argmax"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_operations_on_integers(name, dtype):
    bucketed = olympus.bucketed(functools.partial(OPERATIONS[name], jnp), sizes=[16])
    for length in (3, 11, 16):
        x = np.random.default_rng(length).integers(0, 2, length).astype(dtype)
        expected = OPERATIONS[name](np, x)
        if name == "argsort":
            expected = np.argsort(x, kind="stable")
        close(bucketed(x), expected)


# ---- networks: the unpadded function is the reference ----


def attention(q, k, v):
    scores = jnp.einsum("thd,shd->hts", q, k) / jnp.sqrt(jnp.float32(q.shape[-1]))
    return jnp.einsum("hts,shd->thd", olympus.nn.softmax(scores, axis=-1), v)


def layer_norm(x):
    return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)


def recurrent(x):
    def step(state, row):
        state = jnp.tanh(state * 0.5 + row)
        return state, state * 2

    return lax.scan(step, jnp.zeros(x.shape[1]), x)


def cross_entropy(x):
    return -jnp.mean(olympus.nn.log_softmax(x, axis=1)[:, 0])


@jnp.vectorize
def unsafe_log(x):
    return jnp.log(x)


@olympus.custom_jvp
def clipped(x):
    return jnp.clip(x, -1, 1)


@clipped.defjvp
def _(primals, tangents):
    return clipped(*primals), 3.0 * tangents[0]


@olympus.custom_vjp
def scaled(x):
    return jnp.cumsum(x, 0)


scaled.defvjp(lambda x: (scaled(x), x), lambda x, ct: (ct * jnp.sum(x) + x,))

NETWORKS = {
    "attention": lambda x: attention(*(x.reshape(-1, 2, 2) * scale for scale in (1, 2, 3))),
    "library attention": lambda x: olympus.nn.dot_product_attention(
        *[x.reshape(1, -1, 2, 2)] * 3, is_causal=True
    ),
    "layer norm": layer_norm,
    "recurrent": recurrent,
    "cross entropy": cross_entropy,
    "logsumexp": lambda x: olympus.scipy.special.logsumexp(x, axis=0),
    "convolution": lambda x: lax.conv_general_dilated(
        x.T[None], jnp.ones((3, 4, 5)), (2,), "SAME", dimension_numbers=("NCH", "OIH", "NCH")
    ),
    "pooling": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3, 1), (2, 1), "SAME"),
    "mean pooling": lambda x: lax.reduce_window(x, 0.0, lax.add, (3, 1), (2, 1), "VALID"),
    "segments": lambda x: olympus.ops.segment_sum(x, (x[:, 0] > 0).astype(int), 2),
    "gather": lambda x: x[jnp.argsort(x[:, 0])],
    "custom jvp": lambda x: jnp.sum(clipped(x), 0),
    "custom vjp": lambda x: scaled(x),
    "checkpoint": olympus.checkpoint(lambda x: jnp.mean(jnp.sin(x) ** 2)),
    "logarithm": lambda x: jnp.mean(jnp.log(x * x), 0),
    "square root": lambda x: jnp.sum(jnp.sqrt(jnp.abs(x)) / jnp.max(jnp.abs(x))),
    "cond": lambda x: lax.cond(x.sum() > 0, lambda: jnp.cumsum(x, 0), lambda: -x),
    "top k": lambda x: lax.top_k(x[:, 0], 3)[0],
    "solve": lambda x: jnp.linalg.solve(x @ x.T + 9 * jnp.eye(x.shape[0]), x),
    "least squares": lambda x: jnp.polyfit(x[:, 0], x[:, 1], 2),
    "fixed point": lambda x: lax.custom_linear_solve(
        lambda y: 2 * y, x, lambda _, b: b / 2, symmetric=True
    ),
}


@pytest.mark.thorough(
    "attention", "library attention", "least squares", "solve", "square root", "layer norm"
)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_and_their_gradients(name):
    network = NETWORKS[name]
    bucketed = olympus.bucketed(network, sizes=[4, 12, 24])
    rng = np.random.default_rng(2)

    def loss(function, x):
        return sum(jnp.sum(jnp.sin(leaf)) for leaf in olympus.tree.leaves(function(x)))

    for length in (5, 17):
        x = rng.normal(size=(length, 4)).astype(np.float32)
        close(bucketed(x), network(x), 1e-4)
        gradient = olympus.grad(functools.partial(loss, bucketed))(x)
        close(gradient, olympus.grad(functools.partial(loss, network))(x), 2e-3)
    inside = olympus.bucketed(olympus.grad(functools.partial(loss, network)), sizes=[4, 12, 24])
    close(inside(x), gradient, 2e-3)
    if name != "custom vjp":
        found, expected = (
            olympus.jvp(functools.partial(loss, function), (x,), (x * 0.5,))
            for function in (bucketed, network)
        )
        close(found, expected, 2e-3)


def test_second_derivatives_ignore_padding():
    network = lambda x: jnp.mean(jnp.log(x)) * jnp.max(x)  # noqa: E731
    x = np.random.default_rng(3).uniform(1, 2, 5).astype(np.float32)
    close(olympus.hessian(olympus.bucketed(network))(x), olympus.hessian(network)(x), 1e-4)


def test_gradients_of_shared_parameters():
    """Padding is NaN in the middle of the function; parameters get no part of it."""

    def loss(scale, x):
        return jnp.mean(jnp.log(scale * x) / (scale - x))

    x = np.random.default_rng(3).uniform(1, 2, 5).astype(np.float32)
    bucketed = olympus.bucketed(loss, axis=(None, 0))
    close(olympus.grad(bucketed)(3.0, x), olympus.grad(loss)(3.0, x))

    def divided(scale, x):  # the padded rows of 1 / arange(n) - like arrays are infinite
        return jnp.sum(scale / (x.shape[0] - jnp.arange(x.shape[0])) * x)

    bucketed = olympus.bucketed(divided, axis=(None, 0))
    close(olympus.grad(bucketed)(3.0, x), olympus.grad(divided)(3.0, x))


# ---- programs ----


def test_a_thousand_lengths_compile_eleven_programs():
    @olympus.bucketed
    def statistics(x):
        return {"mean": jnp.mean(x), "share": olympus.nn.softmax(x), "steps": jnp.diff(x)}

    rng = np.random.default_rng(0)
    with compilations() as compiled:
        for length in range(1, 1001):
            x = rng.normal(size=length).astype(np.float32)
            found = statistics(x)
            expected = {"mean": x.mean(), "share": numpy_softmax(x), "steps": np.diff(x)}
            close(found, expected, 1e-4)
    assert len(compiled) == 11


def test_gradients_compile_two_programs_for_each_size():
    bucketed = olympus.bucketed(lambda x: jnp.mean(x * x) * jnp.max(x))
    gradient = olympus.grad(bucketed)
    gradient(np.ones(4, np.float32))
    with compilations() as compiled:
        for length in range(5, 17):
            x = np.arange(length, dtype=np.float32)
            expected = 2 * x / length * x.max()
            expected[-1] += np.mean(x * x)
            close(gradient(x), expected, 1e-5)
    assert len(compiled) == 4


def test_compiled_functions_may_be_called_inside():
    inner = olympus.jit(lambda x, power: jnp.mean(x**power), static_argnames="power")
    bucketed = olympus.bucketed(lambda x: inner(x, power=2) + inner(x, power=3))
    for length in (3, 6):
        x = np.arange(length, dtype=np.float32)
        close(bucketed(x), np.mean(x**2) + np.mean(x**3))


def test_transformations_of_bucketed_functions():
    network = lambda x: jnp.sort(x) / jnp.mean(x)  # noqa: E731
    bucketed = olympus.bucketed(network)
    xs = np.random.default_rng(0).uniform(1, 2, (3, 5)).astype(np.float32)
    close(olympus.vmap(bucketed)(xs), olympus.vmap(network)(xs))
    close(olympus.vmap(bucketed, in_axes=1)(xs), olympus.vmap(network, in_axes=1)(xs))
    close(olympus.jit(bucketed)(xs[0]), network(xs[0]))
    close(
        olympus.vmap(olympus.grad(lambda x: bucketed(x)[0]))(xs),
        olympus.vmap(olympus.grad(lambda x: network(x)[0]))(xs),
    )
    inside = olympus.bucketed(olympus.vmap(network), axis=1)
    close(inside(xs), olympus.vmap(network)(xs))


def test_shard_map_and_export():
    network = lambda x: jnp.cumsum(x) / jnp.mean(x)  # noqa: E731
    bucketed = olympus.bucketed(network)
    x = np.random.default_rng(0).uniform(1, 2, 6).astype(np.float32)
    mesh = olympus.make_mesh((1,), ("d",), axis_types=(olympus.sharding.AxisType.Auto,))
    split = olympus.P("d")
    mapped = olympus.shard_map(bucketed, mesh=mesh, in_specs=split, out_specs=split)
    close(mapped(x), network(x))
    around = olympus.bucketed(lambda x: bucketed_sum(x))
    bucketed_sum = olympus.bucketed(jnp.sum)
    close(around(x), x.sum())

    exported = olympus.export.export(olympus.jit(bucketed))(x)
    close(exported.call(x), network(x))
    shape = olympus.ShapeDtypeStruct(olympus.export.symbolic_shape("n"), jnp.float32)
    for_all = olympus.export.export(olympus.jit(bucketed))(shape)
    close(for_all.call(x[:4]), network(x[:4]))


def test_draws_equal_those_of_the_true_length():
    """Draws equal those for the unpadded shape."""
    bucketed = olympus.bucketed(
        lambda key, x: x * olympus.random.normal(key, x.shape), axis=(None, 0)
    )
    key = olympus.random.key(3)
    for shape in ((5,), (6, 3)):
        x = np.ones(shape, np.float32)
        close(bucketed(key, x), x * olympus.random.normal(key, shape))


# ---- arguments ----


def test_axes_of_arguments():
    def network(batch, scale, keys):
        scores = batch["q"] @ keys.T * scale
        return {"scores": scores, "lengths": (scores.shape[0], jnp.sum(keys))}

    bucketed = olympus.bucketed(
        network, axis=({"q": "time, _"}, None, "keys, _"), sizes={"time": [8, 16], "keys": None}
    )
    rng = np.random.default_rng(0)
    for time, keys in ((3, 9), (12, 1), (16, 16)):
        batch = {"q": rng.normal(size=(time, 4)).astype(np.float32)}
        other = rng.normal(size=(keys, 4)).astype(np.float32)
        found = bucketed(batch, 2.0, other)
        close(found["scores"], batch["q"] @ other.T * 2)
        assert int(found["lengths"][0]) == time


def test_shapes_of_arguments():
    bucketed = olympus.bucketed(lambda a, x: a @ x, axis=("n, n", "n"))
    for n in (1, 5, 8):
        a, x = np.random.default_rng(n).normal(size=(n, n)), np.ones(n)
        close(bucketed(a.astype(np.float32), x.astype(np.float32)), a.sum(1), 1e-4)
    with pytest.raises(ValueError, match=r"shapes \(2, 3\), \(3,\) do not fit axis="):
        bucketed(np.ones((2, 3)), np.ones(3))


def test_empty_arrays_are_padded():
    bucketed = olympus.bucketed(lambda x: (jnp.sum(x), x * 2))
    total, doubled = bucketed(np.ones(0, np.float32))
    assert float(total) == 0 and doubled.shape == (0,)


def test_lengths_that_do_not_fit_raise():
    with pytest.raises(ValueError, match=r"argument of shape \(\) has no axis 0 to pad"):
        olympus.bucketed(lambda x, y: x * y)(np.ones(3), 2.0)
    with pytest.raises(ValueError, match=r"n = 9 is larger than the sizes .*Add a size"):
        olympus.bucketed(jnp.sum, sizes=[4, 8])(np.ones(9))
    with pytest.raises(TypeError, match="takes a function"):
        olympus.bucketed(3)  # type: ignore[type-var]
    for function in (
        lambda x: [x[i] for i in range(x.shape[0])],
        lambda x: x if x.shape[0] > 6 else -x,
    ):
        with pytest.raises((TypeError, olympus.errors.InconclusiveDimensionOperation)) as error:
            olympus.bucketed(function)(np.ones(5))
        assert "for all lengths n from 5 to 8" in "".join(error.value.__notes__)
    with pytest.raises(NotImplementedError, match="fft over dimensions of symbolic size"):
        olympus.bucketed(jnp.fft.fft)(np.ones(5))
    with pytest.raises(NotImplementedError, match=r"change the result of eigh of f32\[n,n\]"):
        olympus.bucketed(jnp.linalg.eigvalsh, axis="n, n")(np.ones((5, 5), np.float32))
    with pytest.raises(ValueError, match="has a size that its elements decide"):
        olympus.bucketed(lambda x: x[x > 0])(np.ones(5, np.float32))


def test_a_function_may_choose_the_sizes():
    traced = []

    def function(x):
        traced.append(x.shape[0])
        return jnp.sum(x)

    bucketed = olympus.bucketed(function, sizes=lambda length: -(-length // 10) * 10)
    for length in (3, 10, 11, 20, 21):
        assert float(bucketed(np.ones(length, np.float32))) == length
    assert len(traced) == 3


# ---- masks ----

SELECTIONS = {
    "mean": lambda np, x: np.mean(x[x > 0]),
    "sum": lambda np, x: np.sum(x[x > 0]),
    "var": lambda np, x: np.var(x[x > 0], ddof=1),
    "median": lambda np, x: np.median(x[x > 0]),
    "quantile": lambda np, x: np.quantile(x[x > 0], 0.4),
    "product of selections": lambda np, x: np.sum(x[x > 0] * np.cos(x)[x > 0]),
    "selection of a selection": lambda np, x: (x[x > 0])[x[x > 0] > 0.5].sum(),
    "sort": lambda np, x: np.sort(x[x > 0])[::-1],
    "two masks": lambda np, x: np.concatenate([x[x > 0], x[x < 0]]),
    "outer": lambda np, x: np.outer(x[x > 0], x[x < 0]),
    "rows": lambda np, x: x.reshape(5, 4)[x.reshape(5, 4)[:, 0] > 0].sum(0),
    "elements of a matrix": lambda np, x: x.reshape(5, 4)[x.reshape(5, 4) > 0].cumsum(),
    "compress": lambda np, x: np.compress(x > 0, 2 * x),
    "extract": lambda np, x: np.extract(x > 0, x),
    "nonzero": lambda np, x: np.nonzero(x > 0)[0],
    "flatnonzero": lambda np, x: np.flatnonzero(x > 0),
    "argwhere": lambda np, x: np.argwhere(x.reshape(5, 4) > 0),
    "where": lambda np, x: np.where(x > 0)[0],
    "unique": lambda np, x: np.unique(np.round(x)),
    "counts": lambda np, x: np.unique(np.round(x), return_counts=True)[1],
    "inverse": lambda np, x: np.unique(np.round(x), return_inverse=True)[1],
    "setdiff1d": lambda np, x: np.setdiff1d(x, x[x > 0]),
    "intersect1d": lambda np, x: np.intersect1d(x, x[x > 0]),
    "union1d": lambda np, x: np.union1d(x, 2 * x[x > 0]),
    "setxor1d": lambda np, x: np.setxor1d(x, x[x > 0]),
    "isin": lambda np, x: np.isin(x, x[x > 0]),
    "histogram": lambda np, x: np.histogram(x[x > 0], bins=3)[0],
    "nothing": lambda np, x: np.sum(x[x > 100]),
}
INTEGERS = ("nonzero", "flatnonzero", "argwhere", "where", "counts", "inverse", "isin", "histogram")


@pytest.mark.thorough(
    "union1d",
    "setxor1d",
    "setdiff1d",
    "outer",
    "two masks",
    "elements of a matrix",
    "quantile",
    "selection of a selection",
)
@pytest.mark.parametrize("name", SELECTIONS)
def test_selections_equal_numpy(name):
    selection = functools.partial(SELECTIONS[name], np)
    masked = olympus.masked(functools.partial(SELECTIONS[name], jnp))
    xs = np.random.default_rng(5).normal(size=(3, 20)).astype(np.float32)
    close(np.asarray(masked(xs[0])), selection(xs[0]))
    batch = olympus.vmap(masked)(xs)
    for number, x in enumerate(xs):
        example = olympus.tree.map(lambda leaf, number=number: leaf[number], batch)
        close(np.asarray(example), selection(x))
    if name in INTEGERS or name == "unique":
        return
    total = olympus.masked(lambda x: jnp.sum(SELECTIONS[name](jnp, x)))
    step = 1e-3
    numeric = [
        (np.sum(selection(xs[0] + step * e)) - np.sum(selection(xs[0] - step * e))) / (2 * step)
        for e in np.eye(20)
    ]
    close(olympus.grad(total)(xs[0]), np.array(numeric), 2e-2)
    close(olympus.vmap(olympus.grad(total))(xs)[0], np.array(numeric), 2e-2)


ROWS = np.random.default_rng(3).normal(size=(5, 8)).astype(np.float32)

# Functions of a row, for NumPy and OLYMPUS, that select by a mask of the row.
OF_ROWS = {
    "sum": lambda np, x: np.sum(x[x > 0]),
    "mean": lambda np, x: np.mean(x[x > 0] ** 2),
    "median": lambda np, x: np.median(x[x > 0]),
    "largest two": lambda np, x: np.sort(x[x > 0])[-1:],
    "positions": lambda np, x: np.nonzero(x > 0)[0].sum(),
    "unique": lambda np, x: np.unique(np.round(x)).max(),
    "size": lambda np, x: np.float32(x[x > 0].shape[0]),
    "two masks": lambda np, x: np.sum(x[x > 0]) * np.mean(x[x < 0]),
}


@pytest.mark.parametrize("name", OF_ROWS)
def test_vmap_inside_maps_over_masks(name):
    function = OF_ROWS[name]
    expected = np.stack([function(np, row) for row in ROWS])
    of_rows = olympus.vmap(lambda row: function(jnp, row))
    close(olympus.masked(of_rows)(ROWS), expected)
    close(olympus.jit(olympus.masked(of_rows))(ROWS), expected)
    twice = olympus.vmap(olympus.masked(of_rows))(np.stack([ROWS, ROWS]))
    close(twice, np.stack([expected, expected]))


def test_derivatives_of_masks_under_vmap_inside():
    def of_row(row):
        return jnp.sum(jnp.sort(row[row > 0]) ** 3)

    expected = np.where(ROWS > 0, 3 * ROWS**2, 0)
    close(olympus.masked(olympus.vmap(olympus.grad(of_row)))(ROWS), expected)
    total = lambda rows: olympus.vmap(of_row)(rows).sum()  # noqa: E731 - short in place
    close(olympus.masked(olympus.grad(total))(ROWS), expected)
    close(olympus.grad(olympus.masked(total))(ROWS), expected)
    second = olympus.jvp(olympus.grad(olympus.masked(total)), (ROWS,), (ROWS,))[1]
    close(second, np.where(ROWS > 0, 6 * ROWS**2, 0))


def test_vmap_inside_with_axes_and_in_nests():
    def above(column, limit):
        return jnp.sum(column[column > limit])

    columns = olympus.vmap(above, in_axes=(1, None))
    expected = np.where(ROWS > 0.5, ROWS, 0).sum(axis=0)
    close(olympus.masked(columns)(ROWS, 0.5), expected)
    limits = np.array([0.0, 0.5], np.float32)
    nested = olympus.vmap(columns, in_axes=(None, 0))
    close(olympus.masked(nested)(ROWS, limits)[1], expected)
    some = olympus.masked(lambda x: olympus.vmap(lambda r: r[r > 0].sum())(x[x[:, 0] > 0]))
    chosen = ROWS[ROWS[:, 0] > 0]
    close(np.asarray(some(ROWS)), np.where(chosen > 0, chosen, 0).sum(axis=1))


def test_rows_of_different_lengths_raise():
    ragged = olympus.masked(olympus.vmap(lambda row: jnp.sort(row[row > 0])))
    with pytest.raises(NotImplementedError, match=r"apply vmap to a masked function"):
        ragged(ROWS)
    found = olympus.vmap(olympus.masked(lambda row: jnp.sort(row[row > 0])))(ROWS)
    assert found.lengths[0].tolist() == (ROWS > 0).sum(axis=1).tolist()

    @olympus.masked
    def outer_and_inner(x):
        chosen = x[0][x[0] > 0]
        return olympus.vmap(lambda row: jnp.sum(row[row > 0]) * jnp.sum(chosen))(x)

    with pytest.raises(NotImplementedError, match=r"uses float32\[count1\], whose size is"):
        outer_and_inner(ROWS)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: jnp.fft.fft(x[x > 0]), "XLA's transforms have known lengths"),
        (
            lambda x: jnp.linalg.eigvalsh(jnp.outer(x, x)[x > 0][:, x > 0]),
            "padding would change the result of eigh",
        ),
        (
            lambda x: olympus.pure_callback(
                np.sin, olympus.ShapeDtypeStruct((3,), x.dtype), x[x > 0]
            ),
            "the function on the host would receive the padding",
        ),
        (lambda x: lax.map(lambda t: x[x > t], jnp.arange(2.0)), "counted inside of a loop"),
    ],
    ids=["fft", "eigvalsh", "callback", "sizes of a loop"],
)
def test_unsupported_operations_in_masked_functions_raise(function, message):
    with pytest.raises((NotImplementedError, olympus.errors.OlympusTypeError), match=message):
        olympus.masked(function)(ROWS[0])


def test_one_program_for_all_masks():
    masked = olympus.masked(lambda x: jnp.mean(x[x > 0]))
    masked(np.ones(8, np.float32))
    with compilations() as compiled:
        for seed in range(5):
            x = np.random.default_rng(seed).normal(size=8).astype(np.float32)
            close(masked(x), x[x > 0].mean())
    assert not compiled


def test_varying_arrays_are_arguments_and_results():
    select = olympus.masked(lambda x: {"chosen": x[x > 0]})
    mean = olympus.masked(lambda tree: jnp.mean(tree["chosen"]) + jnp.sum(jnp.diff(tree["chosen"])))
    x = np.random.default_rng(5).normal(size=9).astype(np.float32)
    both = olympus.jit(lambda x: mean(select(x)))
    expected = x[x > 0].mean() + np.diff(x[x > 0]).sum()
    close(both(x), expected)
    close(mean(select(x)), expected)
    found = select(x)["chosen"]
    assert isinstance(found, olympus.VaryingArray)
    assert len(found) == (x > 0).sum() and found.ndim == 1 and found.dtype == np.float32
    assert np.asarray(found.mask).sum() == len(found)
    assert repr(found).startswith("VaryingArray(array([")


def test_selections_without_elements():
    masked = olympus.masked(lambda x: (jnp.sum(x[x > 9]), jnp.mean(x[x > 9]), x[x > 9]))
    total, mean, chosen = masked(np.ones(4, np.float32))
    assert float(total) == 0 and np.isnan(mean) and len(chosen) == 0


def test_functions_outside_of_masked_keep_their_errors():
    function = olympus.jit(lambda x: x[x > 0])
    olympus.masked(lambda x: jnp.sum(function(x)))(np.ones(3, np.float32))
    with pytest.raises(olympus.errors.NonConcreteBooleanIndexError):
        function(np.ones(3, np.float32))


def test_masks_in_bucketed_functions():
    bucketed = olympus.bucketed(lambda x: jnp.mean(x[x > 0]))
    for length in (5, 6, 8):
        x = np.random.default_rng(length).normal(size=length).astype(np.float32)
        close(bucketed(x), x[x > 0].mean())

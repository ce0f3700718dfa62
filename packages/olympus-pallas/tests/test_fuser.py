# SPDX-License-Identifier: Apache-2.0
"""Fusion of the operations around a kernel into the kernel."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as jnp
import olympus_pallas as pl
from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.references.primitives import new_ref
from olympus_pallas import fuser
from olympus_xla import jit

F32 = np.dtype(np.float32)
TILE = pl.BlockSpec((8, 128), lambda i, j: (i, j))


def fusible_product(x, y, output):
    """Multiplies in blocks, with inputs computed in the kernel and an operation on the output."""
    (m, k), (_, n) = x.shape, y.shape
    result = ShapeDtypeStruct((m, n), F32)
    x_fn, x_values, _ = fuser.get_fusion_values(x)
    y_fn, y_values, _ = fuser.get_fusion_values(y)
    rows = pl.BlockSpec((8, k), lambda i, j: (i, 0))
    columns = pl.BlockSpec((k, 128), lambda i, j: (0, j))
    x_block, (x_specs,), _ = fuser.pull_block_spec(x_fn, rows)(x_values)
    y_block, (y_specs,), _ = fuser.pull_block_spec(y_fn, columns)(y_values)
    if output is None:
        out_values, out_specs, out_types, out_tiles = (), (), (result,), (TILE,)
    else:
        out_fn, out_values, _ = fuser.get_fusion_values(output, result)
        out_types = output.out_type
        out_tiles = fuser.push_block_spec(
            out_fn, tuple(pl.no_block_spec for _ in out_values), TILE
        )(out_values, result)
        out_block, (out_specs, _), _ = fuser.pull_block_spec(out_fn, out_tiles, grid_len=2)(
            out_values, result
        )

    def read(refs):
        return [ref[...] for ref in refs]

    def kernel(x_refs, y_refs, more_refs, *o_refs):
        place = (pl.program_id(0), pl.program_id(1))
        product = x_block(place, (), read(x_refs)) @ y_block(place, (), read(y_refs))
        results = (product,)
        if output is not None:
            results = out_block(place, (), read(more_refs), product)
        for ref, value in zip(o_refs, results, strict=True):
            ref[...] = value

    results = pl.pallas_call(
        kernel,
        tuple(ShapeDtypeStruct(each.shape, each.dtype) for each in out_types),
        grid=(m // 8, n // 128),
        in_specs=[list(x_specs), list(y_specs), list(out_specs)],
        out_specs=tuple(out_tiles),
        interpret=True,
    )(list(x_values), list(y_values), list(out_values))
    return results[0] if output is None else results


product = fuser.fusible(fusible_product)


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, 64)).astype(F32)
    y = rng.normal(size=(64, 256)).astype(F32)
    bias = rng.normal(size=(256,)).astype(F32)
    return x, y, bias


def check(function, wanted, *args):
    for run in (
        function,
        fuser.fuse(function),
        jit(fuser.fuse(function)),
        fuser.evaluate(function),
    ):
        got = run(*args)
        for one, other in zip(
            got if isinstance(got, tuple) else (got,),
            wanted if isinstance(wanted, tuple) else (wanted,),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_fusion_without_surrounding_operations(arrays):
    x, y, _ = arrays
    check(lambda x, y: product(x, y), x @ y, x, y)


def test_inputs_that_are_computed(arrays):
    x, y, bias = arrays

    def function(x, y, bias):
        return product(jnp.tanh(x) * 2, jnp.maximum(y, 0) + bias[None, :])

    wanted = (np.tanh(x) * 2) @ (np.maximum(y, 0) + bias)
    check(function, wanted, x, y, bias)


def test_inputs_that_are_transposed_and_cut(arrays):
    x, y, _ = arrays
    more = np.concatenate([x[:8], x])

    def function(more, y):
        return product(more[8:], y.T.T)

    check(function, x @ y, more, y)


def test_inputs_that_are_joined(arrays):
    x, y, _ = arrays
    half = len(x) // 2

    def function(first, second, y):
        return product(jnp.concatenate([first, 2 * second]), y)

    wanted = np.concatenate([x[:half], 2 * x[half:]]) @ y
    check(function, wanted, x[:half], x[half:], y)
    spec = pl.BlockSpec((3, 4), lambda i, j: (i, j))
    with pytest.raises(ValueError, match="not made of whole blocks of size 3"):
        fuser.pull_block_spec(lambda *pieces: jnp.concatenate(pieces), spec)(x[:4], x[4:10])


def test_fused_output_operations(arrays):
    x, y, bias = arrays

    def function(x, y, bias):
        return jnp.where(product(x, y) + bias > 0, 1.0, 0.5) * 3

    check(function, np.where(x @ y + bias > 0, 1.0, 0.5) * 3, x, y, bias)


def test_several_results_are_fused(arrays):
    x, y, _ = arrays

    def function(x, y):
        result = product(2 * x, y)
        return result + 1, (result * 2).astype(np.int32), x + 1

    wanted = (2 * x @ y + 1, None, x + 1)
    got = fuser.fuse(function)(x, y)
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-4, atol=1e-4)
    assert got[1].dtype == np.int32
    np.testing.assert_array_equal(got[2], wanted[2])


def test_arguments_of_fusible_functions(arrays):
    x, y, bias = arrays
    seen = []

    @fuser.fusible
    def look(first, second, output):
        seen.append((first, second, output))
        result = first() @ second()
        return result if output is None else output(result)

    fuser.fuse(lambda x, y, b: look(2 * x, y) + b)(x, y, bias)
    first, second, output = seen[-1]
    assert (first.shape, first.dtype, first.in_type) == ((16, 64), F32, ((), {}))
    assert second.type.shape == (64, 256)
    assert output.in_shape == ((((16, 256),)), {})
    assert output.shape == ((16, 256),)
    assert output.in_dtype[0] == (F32,)
    assert seen[0][2] is None


def test_errors_of_fusion(arrays):
    x, _, _ = arrays
    with pytest.raises(ValueError, match="this one calls none"):
        fuser.fuse(lambda x: x + 1)(x)
    with pytest.raises(ValueError, match="one fusion for all of its outputs"):
        fuser.fusible(fusible_product, output_fusion_prefix=(True, False))
    with pytest.raises(ValueError, match="transposes an array"):
        fuser.evaluate(lambda x: x.T, allow_transpose=False)(x)


# ---- specifications ----

X = np.arange(256 * 256, dtype=F32).reshape(256, 256) / 1000
SQUARE = pl.BlockSpec((128, 128), lambda i, j: (i, j))


def pulled(function, *args, spec=SQUARE):
    """Returns the specifications; checks that results computed by blocks equal the whole result."""
    block_fn, specs, _ = fuser.pull_block_spec(function, spec, grid_len=2)(*args)
    whole = np.asarray(function(*args))
    for place in ((0, 0), (1, 0), (0, 1)):
        blocks = [block_of(arg, each, place) for arg, each in zip(args, specs, strict=True)]
        place = tuple(map(np.int32, place))
        got = np.asarray(block_fn(place, (), *blocks))
        np.testing.assert_allclose(got, block_of(whole, spec, place), rtol=1e-5)
    return [
        None if each is pl.no_block_spec else (each.block_shape, each.index_map(3, 4))
        for each in specs
    ]


def block_of(array, spec, place):
    if spec is pl.no_block_spec:
        return array
    index = []
    for size, at in zip(spec.block_shape, map(int, spec.index_map(*place)), strict=True):
        index.append(at if size is None else slice(at * size, (at + 1) * size))
    return np.asarray(array)[tuple(index)]


def test_specifications_of_inputs():
    both = ((128, 128), (3, 4))
    bias, scale = X[0], np.float32(2)
    assert pulled(lambda x, b: (x * 2 + b[None, :]).astype(np.float16), X, bias) == [
        both,
        ((128,), (4,)),
    ]
    assert pulled(lambda x, s: x * s + x, X, scale) == [both, None]
    assert pulled(lambda x: x.T, X) == [((128, 128), (4, 3))]
    assert pulled(lambda b: jnp.broadcast_to(b[:, None], (256, 256)), bias) == [((128,), (3,))]
    assert pulled(lambda x: jnp.squeeze(x[None], 0), X) == [both]
    assert pulled(lambda x: x + lax.broadcasted_iota(F32, (256, 256), 0), X) == [both]
    assert pulled(lambda x: x[None].sum(0), X) == [both]
    assert pulled(lambda x: jit(jnp.sin)(x), X) == [both]
    double = np.concatenate([X, X + 1])
    assert pulled(lambda x: x[256:], double) == [((128, 128), (5, 4))]
    row = pl.BlockSpec((None, 128), lambda i, j: (i, j))
    assert pulled(lambda x, b: (x * b).T.T, X, bias, spec=row) == [
        ((None, 128), (3, 4)),
        ((128,), (4,)),
    ]
    column = pl.BlockSpec((128, 1), lambda i, j: (i, 0))
    assert pulled(lambda x: x.max(1, keepdims=True), X, spec=column) == [((128, 256), (3, 0))]


def test_specifications_that_cannot_be_pulled():
    pull = fuser.pull_block_spec
    with pytest.raises(ValueError, match="Fusion contains a DAG, cannot uniquely pull"):
        pull(lambda x: x + x.T, SQUARE)(X)
    with pytest.raises(NotImplementedError, match="followed through `dot_general`"):
        pull(lambda x: x @ x, SQUARE)(X)
    with pytest.raises(ValueError, match="cannot close over arrays"):
        pull(lambda x: x + jnp.asarray(X), SQUARE)(X)
    with pytest.raises(NotImplementedError, match="slices with strides"):
        pull(lambda x: x[::2], SQUARE)(X)
    with pytest.raises(ValueError, match="does not begin with a block"):
        pull(lambda x: x[1:129], SQUARE)(X)
    assert pull(lambda x: x + x.T, SQUARE, strict_mode=False)(X)[1][0].block_shape == (128, 128)


def test_specifications_of_results():
    def pushed(function, *specs):
        spec = fuser.push_block_spec(function, *specs)(X)
        return spec.block_shape, spec.index_map(3, 4)

    assert pushed(lambda x: (x * 2).astype(np.float16), SQUARE) == ((128, 128), (3, 4))
    assert pushed(lambda x: x.T, SQUARE) == ((128, 128), (4, 3))
    assert pushed(lambda x: x[None], SQUARE) == ((1, 128, 128), (0, 3, 4))


def test_customized_functions_need_rules():
    @fuser.custom_fusion
    def add_twice(x, y):
        return x + 2 * y

    with pytest.raises(NotImplementedError, match="no rule to pull"):
        fuser.pull_block_spec(lambda x: add_twice(x, x), SQUARE)(X)
    add_twice.def_pull_block_spec(lambda specs: (specs[0], specs[0]))
    add_twice.def_push_block_spec(lambda specs: (specs[0],))
    assert pulled(lambda x: add_twice(x, x) * 2, X) == [((128, 128), (3, 4))]
    pushed = fuser.push_block_spec(lambda x: add_twice(x, x) * 2, SQUARE)(X)
    assert pushed.block_shape == (128, 128)
    add_twice.def_pallas_impl(lambda x, y: x + y + y)
    assert pulled(lambda x: add_twice(x, x), X) == [((128, 128), (3, 4))]

    @fuser.custom_fusion
    def transposed(x):
        return x.T

    swap = fuser.BlockIndexTransform((128, 128), lambda i, j: (j, i))
    transposed.def_pull_block_spec(lambda specs: (swap,))
    transposed.def_eval_rule(lambda context, x: (x.T,))
    assert pulled(lambda x: transposed(x), X) == [((128, 128), (4, 3))]
    assert swap.replace(memory_space="vmem").memory_space == "vmem"


# ---- references ----


def test_values_of_fusions_with_references():
    x, r, q = jnp.arange(4.0), new_ref(jnp.arange(4.0) + 10), new_ref(jnp.arange(4.0) + 100)
    y = ShapeDtypeStruct((4,), F32)

    def update(y):
        r[...] = r[...] * x + y
        return y + 1

    ones = np.ones(4, F32)
    with pytest.raises(ValueError, match="reads or writes references"):
        fuser.get_fusion_values(update, y)

    function, values, prefetched = fuser.get_stateful_input_fusion_values(update, y)
    assert values == () == prefetched  # the result does not depend on them
    np.testing.assert_array_equal(function((), ones), [2, 2, 2, 2])
    function, values, _ = fuser.get_stateful_input_fusion_values(lambda: (r[...] * x, q[...]))
    assert values[0] is r
    assert values[2] is q
    product, copy = function((ones, 3 * ones, 7 * ones))
    np.testing.assert_array_equal(product, 3 * ones)
    np.testing.assert_array_equal(copy, 7 * ones)

    function, values, prefetched, aliases = fuser.get_stateful_output_fusion_values(update, y)
    assert (prefetched, aliases) == ((), {1: 0})
    assert values[0] is r
    result, (new,) = function((10 * ones, 3 * ones), ones)
    np.testing.assert_array_equal(result, 2 * ones)
    np.testing.assert_array_equal(new, 31 * ones)
    np.testing.assert_array_equal(r[...], np.arange(4) + 10)  # nothing was written

    function, values, _, aliases = fuser.get_stateful_output_fusion_values(lambda: r[...] * x)
    assert aliases == {}
    np.testing.assert_array_equal(function((ones, 3 * ones)), 3 * ones)

    def accumulate(y):
        q[...] += y

    function, values, _, aliases = fuser.get_stateful_output_fusion_values(accumulate, y)
    assert aliases == {0: 0}
    assert function((ones,), ones)[0] is None
    np.testing.assert_array_equal(function((ones,), ones)[1][0], 2 * ones)

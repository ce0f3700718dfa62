# SPDX-License-Identifier: Apache-2.0
"""Repeated blocks become calls of one function; other programs are unchanged."""

import functools

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_ir import lax
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import Literal
from olympus_ir.reference.evaluator import reference_evaluator
from olympus_ir.settings import config_flags
from olympus_ir.trees.pytrees import tree_leaves
from olympus_sharding import AxisType, NamedSharding, make_mesh, shard_map, with_sharding_constraint
from olympus_sharding import PartitionSpec as P
from olympus_xla import device_put, jit
from olympus_xla.compiling.lowering.cuts.fusions import grows
from olympus_xla.compiling.lowering.program_passes import prepared
from olympus_xla.compiling.lowering.repetition import outlined

F32 = np.float32
RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 8)).astype(F32)


def weights(count, shape=(8,)):
    return [(1 + RNG.normal(size=shape) / 8).astype(F32) for _ in range(count)]


def layer(x, w):
    h = lax.mul(x, lax.broadcast_in_dim(w, x.shape, (1,)))
    return lax.tanh(lax.select(lax.gt(h, 0.0), h, lax.mul(h, 0.1)))


def loss(ws, x, layer=layer):
    for w in ws:
        x = layer(x, w)
    return lax.reduce_sum(lax.mul(x, x), (0, 1))


def blocks_of(function, *args):
    olympuspr = make_olympuspr(function)(*args).jaxpr
    return [each for each in outlined(olympuspr, ("cpu",)).eqns if each.primitive.name == "block"]


@pytest.fixture
def without_outlining():
    config_flags.outline_repeated_blocks.update(False)
    yield
    config_flags.outline_repeated_blocks.update(True)


def assert_equal_results(function, *args):
    """Evaluates a program and its outlined form, equation by equation, with the same results."""
    closed = make_olympuspr(function)(*args)
    leaves = tree_leaves(args)
    expected = evaluate(closed.jaxpr, closed.consts, leaves)
    results = evaluate(outlined(closed.jaxpr, ("cpu",)), closed.consts, leaves)
    for first, second in zip(results, expected, strict=True):
        np.testing.assert_array_equal(first, second)


def evaluate(olympuspr, constants, leaves):
    values = dict(
        zip([*olympuspr.constvars, *olympuspr.invars], [*constants, *leaves], strict=True)
    )

    def read(atom):
        return atom.val if isinstance(atom, Literal) else values[atom]

    for equation in olympuspr.eqns:
        operands = [read(atom) for atom in equation.invars]
        if equation.primitive.name == "block":
            results = evaluate(equation.params["call_jaxpr"].jaxpr, (), operands)
        else:
            results = reference_evaluator.evaluate(equation.primitive, operands, equation.params)
            if not equation.primitive.multiple_results:
                results = [results]
        values.update(zip(equation.outvars, results, strict=True))
    return [np.asarray(read(atom)) for atom in olympuspr.outvars]


def test_layers_and_their_gradient_are_calls():
    blocks = blocks_of(grad(loss), weights(20), X)
    bodies = {id(each.params["call_jaxpr"]) for each in blocks}
    assert len(blocks) > 20
    assert len(bodies) == 2  # one function forward and one backward
    assert_equal_results(grad(loss), weights(20), X)


def test_later_blocks_recompute_cheap_values():
    """Only the expensive hyperbolic tangent of a layer is kept for its gradient."""
    first = blocks_of(grad(loss), weights(20), X)[0].params["call_jaxpr"].jaxpr
    assert {str(atom.aval) for atom in first.outvars} == {"float32[4,8]"}
    assert len(first.outvars) == sum(each.primitive.name == "tanh" for each in first.eqns)
    assert not any(each.primitive.name == "sub" for each in first.eqns)  # of the derivative


def test_a_program_with_results_from_its_blocks():
    """Values of blocks are returned, kept for a loss, or recomputed, depending on their use."""

    def function(ws, x):
        def total(ws):
            y, layers = x, []
            for w in ws:
                h = lax.mul(y, lax.broadcast_in_dim(w, y.shape, (1,)))
                mask = lax.gt(h, 0.0)
                y = lax.tanh(lax.select(mask, h, lax.mul(h, 0.1)))
                layers.append((mask, lax.add(y, 1.0)))
            return lax.reduce_sum(lax.mul(y, y), (0, 1)), layers

        gradients, layers = grad(total, has_aux=True)(ws)
        return gradients, layers, functools.reduce(lax.add, [shifted for _, shifted in layers[::2]])

    assert blocks_of(function, weights(20), X)
    assert_equal_results(function, weights(20), X)


def test_memory_of_layers():
    shape, count = (32, 64), 40
    x = RNG.normal(size=shape).astype(F32)
    compiled = jit(grad(loss)).lower(weights(count, shape[1:]), x).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 1.2 * count * x.nbytes


def test_the_compiled_program_computes_the_same(without_outlining):
    ws = weights(24)
    expected = jit(lambda ws, x: grad(loss)(ws, x))(ws, X)
    config_flags.outline_repeated_blocks.update(True)
    compiled = jit(lambda ws, x: grad(loss)(ws, x))
    assert "block" in compiled.lower(ws, X).as_text()
    for first, second in zip(compiled(ws, X), expected, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-6)


def test_repeated_blocks_are_not_inlined():
    text = jit(grad(loss)).lower(weights(20), X).as_text()
    assert text.count("func.func private @block") == 2
    assert text.count('inlineable = "false"') == text.count("call @block") > 20


def test_traced_program_of_the_user_is_unchanged():
    traced = jit(grad(loss)).trace(weights(20), X)
    before = str(traced.jaxpr)
    traced.lower()
    assert str(traced.jaxpr) == before
    assert "block" not in before


def test_blocks_inside_compiled_function_that_is_called():
    inner = jit(grad(loss))
    text = jit(lambda ws, x: inner(ws, x)).lower(weights(20), X).as_text()
    assert "func.func private @block" in text


def test_blocks_in_the_bodies_of_loops():
    def descend(ws, x):
        def step(_, ws):
            gradients = grad(loss)(ws, x)
            return [lax.sub(w, lax.mul(g, 0.1)) for w, g in zip(ws, gradients, strict=True)]

        ws = lax.fori_loop(0, 3, step, ws)
        return lax.scan(lambda ws, _: (step(0, ws), None), ws, None, length=2)[0]

    text = jit(descend).lower(weights(20), X).as_text()
    assert text.count("func.func private @block") == 4  # two in each body
    leaves = [np.asarray(each) for each in jit(descend)(weights(20), X)]
    assert all(np.isfinite(each).all() for each in leaves)


DATA = P("data")


def data_mesh():
    return make_mesh((4,), ("data",), axis_types=(AxisType.Auto,))


def constrained(x, w):
    return with_sharding_constraint(layer(x, w), NamedSharding(data_mesh(), DATA))


def normalized(x, w):  # the mean over all examples, which lie on several devices
    mean = lax.mul(lax.reduce_sum(x, (0,)), 1 / len(x))
    return layer(lax.sub(x, lax.broadcast_in_dim(mean, x.shape, (1,))), w)


@pytest.mark.parametrize("layer", [layer, constrained, normalized])
def test_blocks_of_partitioned_programs(layer, without_outlining):
    mesh = data_mesh()
    ws = device_put(weights(24), NamedSharding(mesh, P()))
    x = device_put(X, NamedSharding(mesh, DATA))
    expected = jit(lambda ws, x: grad(loss)(ws, x, layer))(ws, x)
    config_flags.outline_repeated_blocks.update(True)
    outlined = jit(lambda ws, x: grad(loss)(ws, x, layer))
    assert "func.func private @block" in outlined.lower(ws, x).as_text()
    for first, second in zip(outlined(ws, x), expected, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-6)


def test_blocks_inside_manual_regions(without_outlining):
    mesh = data_mesh()

    def total(ws, x):
        for w in ws:
            x = layer(x, w)
            x = lax.add(x, lax.pmean(x, "data"))
        return lax.psum(lax.reduce_sum(lax.mul(x, x), (0, 1)), "data")

    def gradient(ws, x):
        mapped = shard_map(total, mesh=mesh, in_specs=(P(), DATA), out_specs=P())
        return grad(mapped)(ws, x)

    ws = weights(24)
    expected = jit(lambda ws, x: gradient(ws, x))(ws, X)
    config_flags.outline_repeated_blocks.update(True)
    compiled = jit(lambda ws, x: gradient(ws, x))
    assert "func.func private @block" in compiled.lower(ws, X).as_text()
    for first, second in zip(compiled(ws, X), expected, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-4)


def test_layers_that_are_compiled_functions():
    compiled = jit(layer)
    assert blocks_of(grad(lambda ws, x: loss(ws, x, compiled)), weights(40), X)
    assert_equal_results(grad(lambda ws, x: loss(ws, x, compiled)), weights(40), X)


def unequal_loss(ws, x):
    for n, w in enumerate(ws):
        x = lax.mul(layer(x, w), float(n + 1))
    return lax.reduce_sum(x, (0, 1))


def product_layer(x, w):
    h = lax.dot(x, w)
    return lax.tanh(lax.select(lax.gt(h, 0.0), h, lax.mul(h, 0.1)))


def growing_loss(ws, x):
    for n, w in enumerate(ws):
        x = layer(x, w)
        if n % 2:
            x = lax.concatenate([x, x], 0)
    return lax.reduce_sum(x, (0, 1))


@pytest.mark.parametrize(
    ("function", "args"),
    [
        pytest.param(loss, (weights(40), X), id="nothing is wanted but by the next block"),
        pytest.param(grad(unequal_loss), (weights(20), X), id="constants differ"),
        pytest.param(grad(growing_loss), (weights(10), X), id="shapes differ"),
        pytest.param(grad(loss), (weights(3), X), id="few blocks"),
        pytest.param(
            grad(lambda ws, x: loss(ws, x, product_layer)),
            (weights(20, (8, 8)), X),
            id="products stand between",
        ),
        pytest.param(
            grad(lambda ws, x: loss(ws, x, lambda x, w: lax.mul(lax.sin(x), 2.0))),
            (weights(40), X),
            id="blocks of few operations",
        ),
    ],
)
def test_programs_that_are_unchanged(function, args):
    olympuspr = make_olympuspr(function)(*args).jaxpr
    assert outlined(olympuspr, ("cpu",)) is olympuspr


def log_sinkhorn(costs):
    u = lax.full((8,), F32(0))
    for _ in range(20):
        for axis in (0, 1):
            sums = lax.add(costs, lax.broadcast_in_dim(u, (8, 8), (axis,)))
            u = lax.neg(lax.log(lax.reduce_sum(lax.exp(sums), (axis,))))
    return lax.reduce_sum(lax.mul(u, u), (0,))


def midpoint_steps(x):
    def slope(x):
        rotated = lax.concatenate([x[:, 1:], x[:, :1]], 1)
        return lax.mul(lax.sub(rotated, x), lax.mul(rotated, x))

    for _ in range(20):
        middle = lax.add(x, lax.mul(slope(x), 0.05))
        x = lax.add(x, lax.mul(slope(middle), 0.1))
    return lax.reduce_sum(lax.mul(x, x), (0, 1))


@pytest.mark.parametrize(
    ("function", "args", "is_cut"),
    [
        pytest.param(log_sinkhorn, (X[:, :4] @ X[:, 4:].T,), False, id="functions do not grow"),
        pytest.param(midpoint_steps, (X,), True, id="functions grow inside of blocks"),
    ],
)
def test_blocks_that_do_not_bound_the_growth_are_not_called(function, args, is_cut):
    args = [np.resize(arg, (8, 8)) for arg in args]
    program = make_olympuspr(grad(function))(*args).jaxpr
    assert grows(program) == is_cut
    cuts = []
    changed = prepared(program, ("cpu",), None, cuts)
    assert "block" not in {equation.primitive.name for equation in changed.eqns}
    assert bool(cuts) == is_cut


def shifted_log_sinkhorn(costs):
    """Iterations as libraries write them: each sum is shifted by its largest element."""
    rows = columns = lax.full((8,), F32(0))
    for _ in range(12):
        for axis in (0, 1):
            duals = rows if axis else columns
            sums = lax.add(costs, lax.broadcast_in_dim(duals, (8, 8), (1 - axis,)))
            largest = lax.reduce_max(sums, (axis,))
            shifted = lax.sub(sums, lax.broadcast_in_dim(largest, (8, 8), (1 - axis,)))
            total = lax.log(lax.reduce_sum(lax.exp(shifted), (axis,)))
            duals = lax.neg(lax.add(total, largest))
            rows, columns = (rows, duals) if axis else (duals, columns)
    return lax.reduce_sum(lax.mul(rows, columns), (0,))


def test_growth_leaves_out_expensive_operations_of_repeated_elements():
    """The compiler does not copy them: the executable has as many exponentials as the program."""
    costs = RNG.normal(size=(8, 8)).astype(F32)
    assert not grows(make_olympuspr(shifted_log_sinkhorn)(costs).jaxpr)
    text = jit(shifted_log_sinkhorn).lower(costs).compile().as_text()
    assert text.count(" exponential(") == 24


def test_other_platforms_are_unchanged():
    olympuspr = make_olympuspr(grad(loss))(weights(20), X).jaxpr
    assert outlined(olympuspr, ("cuda",)) is olympuspr
    assert outlined(olympuspr, ("cpu", "tpu")) is olympuspr


def test_the_flag_turns_it_off(without_outlining):
    olympuspr = make_olympuspr(grad(loss))(weights(20), X).jaxpr
    assert outlined(olympuspr, ("cpu",)) is olympuspr


def test_blocks_with_different_wiring_are_not_merged():
    """Consecutive equal blocks that use different values of the previous block."""

    def crossed(ws, x):
        values = [x, lax.neg(x)]
        for n, w in enumerate(ws):
            h = layer(values[-1 - (n * n // 3) % 2], w)
            values.append(lax.add(h, values[-2]))
        return lax.reduce_sum(lax.mul(values[-1], values[-2]), (0, 1))

    assert_equal_results(grad(crossed), weights(24), X)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_keep_their_results(seed):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 5, size=rng.integers(3, 9))
    far = rng.integers(1, 4)

    def block(values, w):
        x = values[-1]
        for kind in kinds:
            if kind == 0:
                x = lax.mul(x, lax.broadcast_in_dim(w, x.shape, (1,)))
            elif kind == 1:
                x = lax.add(lax.sin(x), values[-min(far, len(values))])
            elif kind == 2:
                mean = lax.reduce_sum(x, (1,))
                x = lax.sub(x, lax.broadcast_in_dim(lax.mul(mean, 0.125), x.shape, (0,)))
            elif kind == 3:
                x = lax.dot(x, lax.broadcast_in_dim(w, (8, 8), (0,)))
            else:
                x = lax.select(lax.gt(x, 0.5), x, lax.tanh(x))
        return lax.tanh(x)

    def function(ws, x):
        values = [x]
        for w in ws:
            values.append(block(values, w))
        return lax.reduce_sum(lax.add(values[-1], values[len(values) // 2]), (0, 1))

    assert_equal_results(grad(function), weights(20), X)


@pytest.mark.parametrize("seed", range(12))
def test_random_loops_with_dead_code_keep_their_results(seed):
    """Loops take values of earlier loops in reverse order, some only for results without a use."""
    rng = np.random.default_rng(seed)
    shifts = rng.uniform(0.2, 1.5, size=(3, 3)).tolist()
    dead = rng.random(size=(3, 3)) < 0.5
    used = rng.random(size=(3, 3)) < 0.7

    def function(ws, x):
        kept, b = [[x] for _ in ws], x
        for loop in range(3):
            made = []
            for w, known in zip(ws, reversed(kept), strict=True):
                h = lax.mul(b, lax.broadcast_in_dim(w, x.shape, (1,)))
                for number, value in enumerate(known):
                    if dead[loop, number]:
                        lax.mul(value, 2.0)
                    if used[loop, number]:
                        h = lax.add(lax.mul(value, shifts[loop][number]), h)
                sine = lax.sin(lax.select(lax.gt(h, 0.0), h, lax.mul(h, 0.3)))
                b = lax.tanh(lax.add(sine, lax.mul(h, 0.5)))
                made.append([sine, lax.add(sine, shifts[loop][0]), lax.add(h, 1.0)])
            kept = made
        return lax.reduce_sum(lax.add(b, kept[0][1]), (0, 1))

    assert_equal_results(function, weights(20), X)
    assert_equal_results(grad(function), weights(20), X)


CHANGES = {
    "another constant": lambda x, w, first: layer(lax.mul(x, 1.25), w),
    "the other zero": lambda x, w, first: layer(lax.mul(x, -0.0), w),
    "an earlier value": lambda x, w, first: layer(first, w),
    "exchanged operands": lambda x, w, first: lax.sub(w_of(w, x), layer(x, w)),
    "another dtype": lambda x, w, first: layer(
        lax.convert_element_type(lax.convert_element_type(x, np.float16), np.float32), w
    ),
    "no operation": lambda x, w, first: x,
    "another order": lambda x, w, first: lax.mul(lax.tanh(x), w_of(w, x)),
}


def w_of(w, x):
    return lax.broadcast_in_dim(w, x.shape, (1,))


@pytest.mark.parametrize("place", [0, 1, 9, 22, 23])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_one_differing_step_keeps_its_result(change, place):
    def function(ws, x):
        first = x
        for step, w in enumerate(ws):
            shifted = lax.mul(layer(x, w), 0.0)
            if step == place:
                changed = lax.convert_element_type(change(x, w, first), np.float32)
                x = lax.add(changed, shifted)
            else:
                x = lax.sub(layer(x, w), lax.mul(x, 0.0))
        return lax.reduce_sum(lax.div(1.0, lax.add(lax.mul(x, x), 0.5)), (0, 1))

    assert blocks_of(grad(function), weights(24), X)
    assert_equal_results(grad(function), weights(24), X)


def test_blocks_with_few_repetitions_are_unchanged():
    """Long blocks that repeat too few times."""

    def triples(ws, x):
        total = x
        for _ in range(3):
            for n, w in enumerate(ws):
                total = layer(total, w) if n % 3 else lax.sin(layer(total, w))
            total = lax.reshape(lax.reshape(total, (8, 4)), (4, 8))
        return lax.reduce_sum(total, (0, 1))

    ws = weights(1) * 200
    olympuspr = make_olympuspr(triples)(ws, X).jaxpr
    outlined(olympuspr, ("cpu",))
    assert_equal_results(grad(triples), weights(1) * 20, X)


def test_levels_of_effort_reach_the_compiler():
    from olympus_xla.compiling.compile_options import compile_options

    flags = (config_flags.optimization_level, config_flags.exec_time_optimization_effort)
    before = [flag.value for flag in flags]
    try:
        flags[0].update("O1")
        build = compile_options([0]).executable_build_options
        assert build.optimization_level == 19
        assert build.memory_fitting_level == 29
        flags[1].update(-0.5)
        if hasattr(build, "exec_time_optimization_effort"):
            build = compile_options([0]).executable_build_options
            assert build.exec_time_optimization_effort == -0.5
        else:  # newer compilers know levels alone
            with pytest.raises(ValueError, match="set olympus_optimization_level"):
                compile_options([0])
    finally:
        for flag, value in zip(flags, before, strict=True):
            flag.update(value)

# SPDX-License-Identifier: Apache-2.0
"""Properties of primitives for shapes, dtypes and parameters at random, sizes of zero among them.

The shape rule, the NumPy reference and XLA agree; a batch is a loop; tangents are finite
differences; cotangents pair with tangents.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from olympus_autodiff import jvp, vjp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.programs.tracing import evaluation_trace
from olympus_ir.reference import reference_evaluator
from olympus_ir.settings import config
from olympus_ir.types import dtypes
from olympus_ir.types.avals import get_aval
from olympus_testing import assert_close, check_grads
from olympus_xla.calls import eager

PROFILE = settings(
    max_examples=25,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
FEW = settings(PROFILE, max_examples=12)

DTYPES = [
    np.dtype(name)
    for name in (np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.int8, np.uint8, np.bool_)
] + [np.dtype(np.complex64)]
SIZES = st.integers(0, 3)
SHAPES = st.lists(SIZES, max_size=3).map(tuple)


@st.composite
def arrays(draw, shape=None, dtype=None):
    shape = draw(SHAPES) if shape is None else shape
    dtype = draw(st.sampled_from(DTYPES)) if dtype is None else dtype
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    if dtype == np.bool_:
        return generator.integers(0, 2, shape).astype(dtype)
    if dtypes.issubdtype(dtype, np.integer):
        return generator.integers(0, 9, shape).astype(dtype)
    values = generator.uniform(-2, 2, shape)
    if dtype.kind == "c":
        values = values + 1j * generator.uniform(-2, 2, shape)
    return np.asarray(values).astype(dtype)


def axes_of(shape):
    axes = st.sampled_from(range(len(shape))) if shape else st.nothing()
    return st.lists(axes, unique=True, max_size=len(shape)).map(lambda found: tuple(sorted(found)))


# Each draws operands and a function of them; ``dtype`` is given where derivatives are wanted.


@st.composite
def reductions(draw, dtype=None):
    x = draw(arrays(dtype=dtype))
    axes = draw(axes_of(x.shape))
    if x.dtype == np.bool_:
        operation = draw(st.sampled_from([lax.reduce_and, lax.reduce_or]))
    else:
        operation = draw(st.sampled_from([lax.reduce_sum, lax.reduce_prod]))
    return lambda x: operation(x, axes), [x]


@st.composite
def rearrangements(draw, dtype=None):
    x = draw(arrays(dtype=dtype))
    ndim = x.ndim
    kind = draw(st.sampled_from(["transpose", "rev", "reshape", "broadcast", "expand"]))
    if kind == "transpose":
        order = draw(st.permutations(range(ndim)))
        return lambda x: lax.transpose(x, tuple(order)), [x]
    if kind == "rev":
        axes = draw(axes_of(x.shape))
        return lambda x: lax.rev(x, axes), [x]
    if kind == "reshape":
        return lambda x: lax.reshape(x, (x.size,)), [x]
    if kind == "expand":
        axis = draw(st.integers(0, ndim))
        return lambda x: lax.expand_dims(x, (axis,)), [x]
    prefix = draw(SHAPES)
    return lambda x: lax.broadcast(x, prefix), [x]


@st.composite
def paddings(draw, dtype=None):
    x = draw(arrays(dtype=dtype))
    value = draw(arrays(shape=(), dtype=x.dtype))
    padding = [
        (draw(st.integers(0 if size < 2 else -1, 2)), draw(st.integers(0, 2)), draw(SIZES))
        for size in x.shape
    ]
    return lambda x, value: lax.pad(x, value, padding), [x, value]


@st.composite
def slices(draw, dtype=None):
    x = draw(arrays(dtype=dtype))
    starts = [draw(st.integers(0, size)) for size in x.shape]
    limits = [draw(st.integers(low, size)) for low, size in zip(starts, x.shape, strict=True)]
    strides = [draw(st.integers(1, 3)) for _ in x.shape]
    return lambda x: lax.slice(x, starts, limits, strides), [x]


@st.composite
def dynamic_slices(draw, dtype=None):
    x = draw(arrays(dtype=dtype))
    sizes = [draw(st.integers(0, size)) for size in x.shape]
    starts = [np.int32(draw(st.integers(-2, 5))) for _ in x.shape]  # also out of range
    update = draw(arrays(shape=tuple(sizes), dtype=x.dtype))
    if draw(st.booleans()):
        return lambda x: lax.dynamic_slice(x, starts, sizes), [x]
    return lambda x, update: lax.dynamic_update_slice(x, update, starts), [x, update]


@st.composite
def concatenations(draw, dtype=None):
    x = draw(arrays(shape=draw(st.lists(SIZES, min_size=1, max_size=3).map(tuple)), dtype=dtype))
    axis = draw(st.integers(0, x.ndim - 1))
    other = list(x.shape)
    other[axis] = draw(SIZES)
    y = draw(arrays(shape=tuple(other), dtype=x.dtype))
    return lambda x, y: lax.concatenate([x, y], axis), [x, y]


@st.composite
def products(draw, dtype=None):
    batch, contracted, left, right = (draw(st.lists(SIZES, max_size=2)) for _ in range(4))
    shape = [*batch, *left, *contracted]
    other = [*batch, *contracted, *right]
    dtype = draw(st.sampled_from(DTYPES)) if dtype is None else dtype
    x, y = (
        draw(arrays(shape=tuple(shape), dtype=dtype)),
        draw(arrays(shape=tuple(other), dtype=dtype)),
    )
    first = len(batch)
    numbers = (
        (
            tuple(range(first + len(left), len(shape))),
            tuple(range(first, first + len(contracted))),
        ),
        (tuple(range(first)), tuple(range(first))),
    )
    return lambda x, y: lax.dot_general(x, y, numbers), [x, y]


@st.composite
def elementwise(draw, dtype=None):
    x = draw(arrays(dtype=dtype))
    y = draw(arrays(shape=draw(st.sampled_from([x.shape, ()])), dtype=x.dtype))
    if x.dtype == np.bool_:
        operation = draw(st.sampled_from([lax.bitwise_and, lax.bitwise_xor, lax.eq]))
    elif dtypes.issubdtype(x.dtype, np.integer):
        operation = draw(st.sampled_from([lax.add, lax.mul, lax.max, lax.shift_left, lax.rem]))
    elif x.dtype.kind == "c":
        operation = draw(st.sampled_from([lax.add, lax.sub, lax.mul]))
    else:
        operation = draw(st.sampled_from([lax.add, lax.sub, lax.mul, lax.atan2]))
    return lambda x, y: operation(x, y), [x, y]


@st.composite
def running(draw, dtype=None):
    shape = draw(st.lists(SIZES, min_size=1, max_size=3).map(tuple))
    kind = st.sampled_from([each for each in DTYPES if each != np.bool_])
    x = draw(arrays(shape=shape, dtype=draw(kind) if dtype is None else dtype))
    axis, reverse = draw(st.integers(0, x.ndim - 1)), draw(st.booleans())
    operation = draw(st.sampled_from([lax.cumsum, lax.cumprod]))
    return lambda x: operation(x, axis, reverse), [x]


ALL = st.one_of(
    reductions(),
    rearrangements(),
    paddings(),
    slices(),
    dynamic_slices(),
    concatenations(),
    products(),
    elementwise(),
    running(),
)
DOUBLE = np.dtype(np.float64)
DIFFERENTIABLE = st.one_of(
    *(
        family(dtype=DOUBLE)
        for family in (
            reductions,
            rearrangements,
            paddings,
            slices,
            dynamic_slices,
            concatenations,
            products,
            elementwise,
            running,
        )
    )
)


class _Recorder:
    """Runs what a function binds by both evaluators."""

    def __init__(self):
        self.pairs = []

    def evaluate(self, primitive, args, params):
        expected = reference_evaluator.evaluate(primitive, args, params)
        actual = eager.evaluate(primitive, args, params)
        self.pairs.append((actual, expected))
        return actual


@PROFILE
@given(ALL)
def test_xla_and_reference_agree_with_shape_rule(drawn):
    fun, operands = drawn
    recorder = _Recorder()
    saved = evaluation_trace.process_primitive
    evaluation_trace.process_primitive = recorder.evaluate
    try:
        fun(*operands)
    finally:
        evaluation_trace.process_primitive = saved
    for actual, expected in recorder.pairs:
        # The reference checks its results against the shape rule itself.
        assert_close(actual, expected, check_weak_types=True)


@PROFILE
@given(ALL, st.integers(1, 3), st.data())
def test_a_batch_is_a_loop(drawn, count, data):
    fun, operands = drawn
    axes = [data.draw(st.integers(0, np.ndim(x))) for x in operands]
    examples = [[(x * (number + 1)).astype(x.dtype) for x in operands] for number in range(count)]
    columns = zip(*examples, strict=True)
    stacked = [np.stack(column, axis) for column, axis in zip(columns, axes, strict=True)]
    batched = vmap(fun, in_axes=tuple(axes))(*stacked)
    assert_close(batched, np.stack([np.asarray(fun(*example)) for example in examples]))
    assert get_aval(batched).shape[0] == count


@FEW
@given(DIFFERENTIABLE)
def test_derivatives_are_finite_differences(drawn):
    fun, operands = drawn
    with config.enable_x64(True):
        if any(0 in np.shape(x) for x in operands):
            _, tangent = jvp(fun, operands, operands)
            result, pull = vjp(fun, *operands)
            cotangents = pull(result)
            assert get_aval(tangent).shape == get_aval(result).shape
            assert [get_aval(ct).shape for ct in cotangents] == [x.shape for x in operands]
            return
        check_grads(fun, operands, order=2, jvp=jvp, vjp=vjp)

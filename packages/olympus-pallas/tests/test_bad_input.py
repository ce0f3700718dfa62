# SPDX-License-Identifier: Apache-2.0
"""Errors of inconsistent specifications, kernels and operands."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import grad
from olympus_ir import ShapeDtypeStruct
from olympus_pallas import (
    ANY,
    BlockSpec,
    GridSpec,
    ds,
    loop,
    next_power_of_2,
    pallas_call,
    program_id,
)
from olympus_pallas.memory.access import atomic_and, atomic_cas, load, store
from olympus_pallas.tpu import (
    HBM,
    VMEM,
    CompilerParams,
    InterpretParams,
    PrefetchScalarGridSpec,
    SemaphoreType,
    sync_copy,
)
from olympus_pallas.triton import approx_tanh, dot

F32 = np.dtype(np.float32)
X = np.ones((8, 128), F32)
OUT = ShapeDtypeStruct((8, 128), F32)


def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def call(kernel=copy, out=OUT, args=(X,), **options):
    return pallas_call(kernel, out, interpret=True, **options)(*args)


def half(i):
    return (i, 0)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"in_specs": [BlockSpec((4,), half)]},
            r"Block shape for args\[0\] .* must have the same number of dimensions as the array",
        ),
        (
            {"in_specs": [BlockSpec((4, 128), lambda i: (i,))]},
            r"for args\[0\] must return 2 values to match block_shape",
        ),
        (
            {"in_specs": [BlockSpec((4, 128), lambda i: (i * 1.0, 0))]},
            r"must return integer scalars. Output\[0\] has type ~float32\[\]",
        ),
        (
            {"in_specs": [BlockSpec((4, 128), lambda i: (jnp.arange(2), 0))]},
            r"must return integer scalars. Output\[0\] has type int32\[2\]",
        ),
        (
            {"in_specs": [BlockSpec((4, 128), lambda i: (jnp.asarray(np.arange(2))[i], 0))]},
            "must not capture constants",
        ),
        ({"in_specs": [BlockSpec((0, 128), half)]}, "must have positive sizes"),
        ({"in_specs": [BlockSpec(("a", 128), half)]}, "Unsupported block dimension type"),
        ({"in_specs": BlockSpec((4, 128), half)}, "`in_specs` must be a tuple or a list. Found: "),
        ({"in_specs": [BlockSpec((4, 128), half)] * 2}, "Pytree for `in_specs` and `inputs`"),
        ({"out_specs": [BlockSpec((4, 128), half)] * 2}, "Pytree for `out_specs` and `out_shape`"),
        ({"grid": ("a",)}, "Grid must be a tuple of integers"),
        ({"grid_spec": GridSpec((2,))}, "If `grid_spec` is specified, then `grid` must be"),
        ({"input_output_aliases": {3: 0}}, r"'3:0' with input index 3 outside the range \[0, 1\)"),
        ({"input_output_aliases": {0: 2}}, r"'0:2' with output index 2 outside the range \[0, 1\)"),
    ],
)
def test_unsuitable_specifications_raise(options, match):
    with pytest.raises(ValueError, match=match):
        call(**{"grid": (2,), **options})


def test_aliases_of_mismatched_type_raise():
    with pytest.raises(
        ValueError, match=r"input\[0\] with abstract value int32\[8,128\] and to out"
    ):
        call(args=(X.astype(np.int32),), input_output_aliases={0: 0})
    two = (OUT, OUT)
    with pytest.raises(ValueError, match="output 0 is the target of another input"):
        call(lambda *refs: None, two, (X, X), input_output_aliases={0: 0, 1: 0})


def test_index_map_of_wrong_arity_raises():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'j'"):
        call(grid=(2,), in_specs=[BlockSpec((4, 128), lambda i, j: (i, j))])


def test_arguments_of_block_specs_in_old_order():
    spec = BlockSpec(half, (4, 128))
    assert spec == BlockSpec((4, 128), half)


def test_kernels_that_return_or_capture():
    with pytest.raises(
        ValueError, match=r"should return None. It returns a PyTree: PyTreeDef\(\*\)"
    ):
        call(lambda x_ref, o_ref: 1)
    constant = jnp.arange(3.0)

    def captures(x_ref, o_ref):
        o_ref[...] = x_ref[...] + constant[0]

    with pytest.raises(ValueError, match=r"captures constants \[f32\[3\]\]. You should pass them"):
        call(captures)


def test_kernels_of_wrong_arity_raise():
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        call(lambda x_ref: None)


def test_stores_of_mismatched_values_raise():
    with pytest.raises(ValueError, match=r"Invalid shape for `swap`. Ref shape: \(8, 128\)"):
        call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[0]))
    with pytest.raises(ValueError, match="Invalid dtype for `swap`. Ref dtype: float32"):
        call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...].astype(np.int32)))


def test_invalid_out_shape_raises():
    with pytest.raises(ValueError, match="Invalid out_shape type: <class 'int'>"):
        call(out=(3,))


@pytest.mark.parametrize("space", [ANY, HBM])
def test_simulated_cores_do_not_reach_main_memory(space):
    simulated = {"interpret": InterpretParams()}
    spec = BlockSpec(memory_space=space)
    message = "memory space of HBM or ANY cannot be referenced directly"
    with pytest.raises(ValueError, match=message):
        pallas_call(copy, OUT, in_specs=[spec], **simulated)(X)
    with pytest.raises(ValueError, match=message):
        pallas_call(copy, OUT, out_specs=spec, **simulated)(X)

    def nested(x_ref, o_ref):
        loop(0, 2)(lambda i: copy(x_ref, o_ref))

    with pytest.raises(ValueError, match=message):
        pallas_call(nested, OUT, in_specs=[spec], **simulated)(X)
    moved = pallas_call(sync_copy, OUT, in_specs=[spec], **simulated)(X)
    np.testing.assert_array_equal(moved, X)


def test_semantics_of_too_many_dimensions():
    params = CompilerParams(dimension_semantics=("parallel", "arbitrary"))
    with pytest.raises(ValueError, match="2 entries, but the grid has 1 dimensions"):
        pallas_call(copy, OUT, grid=(1,), compiler_params=params, interpret=InterpretParams())(X)


def test_program_id_outside_of_kernels_and_grids_raises():
    with pytest.raises(RuntimeError, match="program_id was called outside of a kernel"):
        program_id(0)
    with pytest.raises(ValueError, match=r"Axis 1 is out of bounds for grid \(2,\)"):
        call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] * program_id(1)), grid=(2,))


def test_unsuitable_scratch_buffers_raise():
    with pytest.raises(TypeError, match="scratch_shapes must hold buffers like tpu.VMEM"):
        call(lambda *refs: None, scratch_shapes=[(8, 128)])
    assert VMEM((8, 128), F32).shape == (8, 128)


def test_missing_prefetched_scalars_raise():
    spec = PrefetchScalarGridSpec(num_scalar_prefetch=2, grid=(1,))
    with pytest.raises(ValueError, match="num_scalar_prefetch=2.*called with 1 inputs"):
        pallas_call(copy, OUT, grid_spec=spec, interpret=True)(X)


def test_unsuitable_masked_accesses_raise():
    with pytest.raises(ValueError, match="Can only call `load` on a `Ref`"):
        load(X)
    with pytest.raises(ValueError, match=r"part of shape \(8, 128\), but the mask has the shape"):
        call(lambda x_ref, o_ref: o_ref.__setitem__(..., load(x_ref, mask=x_ref[0] > 0)))
    with pytest.raises(ValueError, match="the value has the dtype int32"):
        call(lambda x_ref, o_ref: store(o_ref, x_ref[...].astype(np.int32)))
    with pytest.raises(ValueError, match="Out of bound slice: start=6, size=4"):
        call(lambda x_ref, o_ref: o_ref.__setitem__(0, load(x_ref.at[ds(6, 4), 0])))


def test_unsuitable_atomic_updates_raise():
    with pytest.raises(ValueError, match="`atomic_and` works on integers"):
        call(lambda x_ref, o_ref: o_ref.__setitem__((0, 0), atomic_and(o_ref, (0, 0), 1.0)))
    with pytest.raises(ValueError, match="`atomic_cas` expects a reference to a scalar"):
        call(lambda x_ref, o_ref: o_ref.__setitem__(0, atomic_cas(o_ref.at[0], 1.0, 2.0)))


def test_functions_for_kernels():
    with pytest.raises(ValueError, match="must be 2D arrays"):
        dot(X[0], X)
    with pytest.raises(ValueError, match="Only one of allow_tf32 and precision"):
        dot(X, X, trans_b=True, allow_tf32=True, precision="highest")
    with pytest.raises(TypeError, match="approx_tanh does not accept int32"):
        approx_tanh(np.arange(3))
    with pytest.raises(ValueError, match="non-negative"):
        next_power_of_2(-1)


def test_reverse_derivatives_raise():
    with pytest.raises(ValueError, match="has no reverse derivative"):
        grad(lambda x: call(args=(x,)).sum())(X)


def test_mismatched_specifications_name_the_path():
    specs = [BlockSpec((4, 128), half)] * 2
    with pytest.raises(ValueError, match=r"There are 1 mismatches, including:\n +\* at \[1\], "):
        call(args=(X, {"a": X}), grid=(2,), in_specs=specs)
    with pytest.raises(ValueError, match="`in_specs` must be a tuple or a list"):
        pallas_call(copy, OUT, in_specs=specs[0])
    with pytest.raises(ValueError, match="must return integer scalars. It returned"):
        call(grid=(2,), in_specs=[BlockSpec((4, 128), lambda i: (None, 0))])


def test_slices_out_of_bounds():
    def beyond(x_ref, o_ref):
        o_ref[0:4] = x_ref[ds(5, 4)]

    with pytest.raises(ValueError, match="Out of bound slice: start=5, size=4, stride=1, dim=8"):
        call(beyond)


def test_loop_without_carry_must_return_none():
    def kernel(x_ref, o_ref):
        loop(0, 4)(lambda i: i)

    with pytest.raises(TypeError, match="without init_carry returns nothing"):
        call(kernel)
    assert repr(SemaphoreType.DMA) == "<SemaphoreType.DMA: 'dma'>"

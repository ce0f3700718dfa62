# SPDX-License-Identifier: Apache-2.0
"""Estimates of the roofline model, compared with JAX 0.10.2 where JAX has a rule."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from olympus_autodiff import vjp
from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types.placement import AbstractMesh, PartitionSpec
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_sharding.roofline import (
    RooflineResult,
    RooflineShape,
    register_roofline,
    register_standard_roofline,
    roofline,
    roofline_and_grad,
)
from olympus_sharding.shardings.behavior import NamedSharding

X = ShapeDtypeStruct((128, 64), np.float32)
Y = ShapeDtypeStruct((64, 32), np.float32)
MESH = AbstractMesh((4, 2), ("x", "y"))


def estimate(fun, *args, **options):
    return roofline(fun, **options)(*args)[1]


@pytest.mark.parametrize(
    ("fun", "operations", "moved", "peak"),
    [
        (lax.sin, 8192, 65536, 32768),
        (lambda x: lax.add(x, x), 8192, 98304, 32768),
        (lambda x: lax.mul(x, 2.0), 8192, 65540, 32768),
        (lambda x: lax.reduce_sum(x, (0,)), 8128, 33024, 32768),
        (lambda x: lax.cumsum(x, 0), 128, 65536, 32768),
        (lambda x: lax.broadcast_in_dim(x, (128, 64, 3), (0, 1)), 0, 0, 98304),
        (lambda x: lax.add(lax.sin(x), lax.cos(x)), 24576, 229376, 65536),
        (lambda x: lax.is_finite(x), 8192, 40960, 32768),
    ],
)
def test_elementwise_operations_count_elements_and_bytes(fun, operations, moved, peak):
    found = estimate(fun, X)
    expected = RooflineResult(
        unfused_flops=operations, unfused_hbm_bytes=moved, peak_hbm_bytes=peak
    )
    assert found == expected


INDICES = ShapeDtypeStruct((3, 1), np.int32)
ROWS = ShapeDtypeStruct((3, 64), np.float32)
GATHERED = lax.GatherDimensionNumbers((1,), (0,), (0,))
SCATTERED = lax.ScatterDimensionNumbers((1,), (0,), (0,))


@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_gathers_copy_their_result(mode):
    found = estimate(lambda x, i: lax.gather(x, i, GATHERED, (1, 64), mode=mode), X, INDICES)
    assert found.unfused_hbm_bytes == 2 * 768 + 12
    # With "fill" there are four operations for each index, and one for each element.
    assert found.unfused_flops == (0 if mode == "clip" else 4 * 3 + 192)


@pytest.mark.parametrize(
    ("fun", "operations"),
    [(lax.scatter, 0), (lax.scatter_add, 192), (lax.scatter_mul, 192), (lax.scatter_min, 192)],
)
def test_scatters_touch_what_they_update(fun, operations):
    found = estimate(lambda x, i, u: fun(x, i, u, SCATTERED), X, INDICES, ROWS)
    assert (found.unfused_flops, found.unfused_hbm_bytes) == (operations, 3 * 768 + 12)


def test_slices_at_unknown_places_copy_their_result():
    start = ShapeDtypeStruct((), np.int32)
    found = estimate(lambda x, i: lax.dynamic_slice(x, (i, i), (3, 64)), X, start)
    assert found.unfused_hbm_bytes >= 2 * 768
    assert found.unfused_hbm_bytes < 2 * 768 + 100
    found = estimate(lambda x, u, i: lax.dynamic_update_slice(x, u, (i, i)), X, ROWS, start)
    assert 2 * 768 <= found.unfused_hbm_bytes < 2 * 768 + 100


def test_results_that_nothing_uses_cost_nothing():
    def derivative(x, y):
        return vjp(lambda x: lax.dot(x, y), x)[1](lax.full((128, 32), np.float32(1)))

    assert estimate(derivative, X, Y).flops == 2 * 128 * 64 * 32


def test_products_count_operations_and_bytes():
    types, found = roofline(lambda x, y: lax.add(lax.sin(lax.dot(x, y)), 1.0))(X, Y)
    assert types == ShapeDtypeStruct((128, 32), np.float32)
    assert found == RooflineResult(
        flops=524288,
        unfused_flops=532480,
        hbm_bytes=57344,
        peak_hbm_bytes=40960,
        unfused_hbm_bytes=122884,
    )
    assert estimate(lax.dot, X, Y, pin_lhs_in_vmem=True).hbm_bytes == 8192
    assert estimate(lax.dot, X, Y, pin_rhs_in_vmem=True).hbm_bytes == 49152


def test_convolutions_without_padding():
    image = ShapeDtypeStruct((1, 1, 128, 64), np.float32)
    kernel = np.ones((1, 1, 3, 3), np.float32)
    found = estimate(lambda x: lax.conv(x, kernel, (1, 1), "SAME"), image)
    # The number of window elements inside the array: 382 along the first dimension, 190 along the
    # second.
    assert found.unfused_flops == 2 * 382 * 190


def test_loops_are_multiplied_by_their_trip_count():
    def loop(x):
        return lax.scan(lambda c, _: (lax.sin(c), None), x, None, length=5)[0]

    assert estimate(loop, X).unfused_flops == 5 * 8192


@pytest.mark.parametrize(
    ("fun", "sent", "hops"),
    [
        (lambda x: lax.psum(x, "x"), {"x": 6144}, {"x": 8}),
        (lambda x: lax.psum(x, ("x", "y")), {"x": 3584, "y": 3584}, {"x": 16, "y": 16}),
        (lambda x: lax.all_gather(x, "x", tiled=True), {"x": 12288}, {"x": 4}),
        (lambda x: lax.psum_scatter(x, "x", tiled=True), {"x": 3072}, {"x": 4}),
        (lambda x: lax.all_to_all(x, "x", 0, 1, tiled=True), {"x": 4096}, {"x": 2}),
        (
            lambda x: lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)]),
            {"x": 4096},
            {"x": 1},
        ),
    ],
)
def test_collectives_count_bytes_and_hops(fun, sent, hops):
    spec = PartitionSpec("x", "y")
    found = estimate(fun, X, mesh=MESH, in_specs=spec, out_specs=spec)
    assert found.ici_bytes == sent and found.ici_latency == hops


def test_estimates_are_per_device():
    spec = PartitionSpec("x", "y")
    found = estimate(lax.sin, X, mesh=MESH, in_specs=spec, out_specs=spec)
    assert found == RooflineResult(unfused_flops=1024, unfused_hbm_bytes=8192, peak_hbm_bytes=4096)


def test_types_of_results_have_their_shardings():
    specs = {"whole": PartitionSpec(), "parts": PartitionSpec("x")}

    def both(x, y):
        return {"whole": lax.sin(y), "parts": (lax.dot(x, y),)}

    in_specs = (PartitionSpec("x"), PartitionSpec())
    types, _ = roofline(both, MESH, in_specs, specs)(X, Y)
    assert types["whole"].sharding == NamedSharding(MESH, PartitionSpec())
    assert types["parts"][0].sharding == NamedSharding(MESH, PartitionSpec("x"))
    types, _, _ = roofline_and_grad(lax.dot, MESH, in_specs, PartitionSpec("x"))(X, Y)
    assert types.sharding == NamedSharding(MESH, PartitionSpec("x"))


def test_backward_passes_are_estimated_separately():
    specs = (PartitionSpec("x"), PartitionSpec())
    types, forward, backward = roofline_and_grad(lax.dot, MESH, specs, PartitionSpec("x"))(X, Y)
    assert types.shape == (128, 32)
    assert forward.flops == 131072 and forward.ici_bytes == {}
    assert backward.flops == 2 * forward.flops and backward.ici_bytes == {"x": 12288}


def test_user_defined_rules(caplog):
    primitive = Primitive("costly")
    primitive.def_abstract_eval(lambda x: x)
    with caplog.at_level(logging.WARNING, logger="olympus.roofline"):
        assert estimate(primitive.bind, X).flops == 0
    assert "No roofline rule for costly" in caplog.text

    @register_roofline(primitive)
    def rule(context, x):
        assert context.primitive is primitive and context.avals_in[0].shape == x.shape
        return RooflineResult(flops=7)

    assert estimate(primitive.bind, X).flops == 7
    register_standard_roofline(primitive)
    assert estimate(primitive.bind, X).flops == 0


def test_shapes_and_sums():
    shape = RooflineShape(shape=(2, 3), dtype=np.dtype("float32"))
    assert (shape.size, shape.bytes) == (6, 24)
    first = RooflineResult(flops=1, peak_hbm_bytes=3, ici_bytes={"x": 1})
    second = RooflineResult(flops=2, peak_hbm_bytes=5, ici_bytes={"x": 2, "y": 3})
    assert first + second == RooflineResult(flops=3, peak_hbm_bytes=5, ici_bytes={"x": 3, "y": 3})
    assert RooflineResult.zeros() == RooflineResult()


def test_programs_are_printed_on_request(capsys):
    estimate(lax.sin, X, print_jaxpr=True)
    assert "b:f32[128,64] = sin a" in capsys.readouterr().out

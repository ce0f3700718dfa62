# SPDX-License-Identifier: Apache-2.0
"""`ragged_all_to_all` under `vmap` and on emulated devices; sending and receiving in two steps."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import jvp, vjp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_sharding import Mesh
from olympus_sharding import PartitionSpec as P
from olympus_sharding.manual.shard_map import shard_map
from olympus_xla import devices, jit

pytestmark = pytest.mark.usefixtures("eight_devices")

RNG = np.random.default_rng(11)


def reference(operand, output, input_offsets, send_sizes, output_offsets, recv_sizes):
    """The exchange of all instances, slice by slice."""
    size, count = input_offsets.shape
    result = np.array(output)
    for sender in range(size):
        for k in range(count):
            start, length = input_offsets[sender, k], send_sizes[sender, k]
            there = output_offsets[sender, k]
            receiver = k // (count // size)
            result[receiver, there : there + length] = operand[sender, start : start + length]
    return result


def problem(size, per_receiver):
    """Operands of all instances: slices of up to two rows, some with gaps between them."""
    count = size * per_receiver
    send_sizes = RNG.integers(0, 3, (size, count)).astype(np.int32)
    gaps = RNG.integers(0, 2, (size, count))
    input_offsets = (np.cumsum(send_sizes + gaps, 1) - send_sizes).astype(np.int32)
    recv_sizes = exchanged(send_sizes)
    output_offsets = exchanged(np.cumsum(recv_sizes, 1) - recv_sizes).astype(np.int32)
    rows = (input_offsets + send_sizes).max() + 1, recv_sizes.sum(1).max() + 2
    operand, output = (normal((size, each, 3)) for each in rows)
    return operand, output, input_offsets, send_sizes, output_offsets, recv_sizes


def exchanged(values):
    size, count = values.shape
    return values.reshape(size, size, count // size).swapaxes(0, 1).reshape(size, count)


def normal(shape):
    return RNG.normal(size=shape).astype(np.float32)


def exchange(*args, **options):
    return lax.ragged_all_to_all(*args, axis_name="x", **options)


def on_devices(size, check_vma=True, **options):
    return shard_map(
        lambda *args: exchange(*(arg[0] for arg in args), **options)[None],
        mesh=Mesh(np.array(devices()[:size]), ("x",)),
        in_specs=(P("x"),) * 6,
        out_specs=P("x"),
        check_vma=check_vma,
    )


FORMS = {
    "vmap": lambda size: vmap(exchange, axis_name="x"),
    "devices": on_devices,
    "devices, compiled": lambda size: jit(on_devices(size)),
    "devices, unchecked": lambda size: jit(on_devices(size, False)),
}
SIZES = [(2, 3), (4, 1), (8, 2)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size, per_receiver", SIZES)
def test_exchanged_values_equal_the_reference(form, size, per_receiver):
    args = problem(size, per_receiver)
    np.testing.assert_array_equal(FORMS[form](size)(*args), reference(*args))


@pytest.mark.parametrize("form", ["vmap", "devices, compiled"])
def test_small_integers_and_overlapping_slices(form):
    operand = np.arange(8, dtype=np.int16).reshape(2, 4)
    output = np.full((2, 300), -1, np.int16)
    offsets = np.array([[250, 250], [251, 251]], np.uint8)
    sizes = np.full((2, 2), 2, np.uint8)
    args = operand, output, np.ones((2, 2), np.uint8), sizes, offsets, sizes
    expected = np.array(output)
    expected[:, 250:253] = [1, 5, 6]
    np.testing.assert_array_equal(FORMS[form](2)(*args), expected)


@pytest.mark.parametrize("form", ["vmap", "devices, compiled"])
def test_axis_index_groups(form):
    groups = [[0, 2], [3, 1]]
    args = problem(2, 2), problem(2, 2)
    rows = [max(part[i].shape[1] for part in args) for i in range(2)]
    whole = []
    for i in range(6):
        parts = [part[i] for part in args]
        if i < 2:
            parts = [np.pad(p, ((0, 0), (0, rows[i] - p.shape[1]), (0, 0))) for p in parts]
        whole.append(np.concatenate(parts))
    expected = np.concatenate(
        [reference(*(each[:2] for each in whole)), reference(*(each[2:] for each in whole))]
    )
    order = np.argsort([index for group in groups for index in group])
    if form == "vmap":
        grouped = vmap(lambda *a: exchange(*a, axis_index_groups=groups), axis_name="x")
    else:
        grouped = jit(on_devices(4, axis_index_groups=groups))
    np.testing.assert_array_equal(grouped(*(each[order] for each in whole)), expected[order])


@pytest.mark.parametrize("form", ["vmap", "devices, compiled"])
@pytest.mark.parametrize("size, per_receiver", SIZES)
def test_derivatives_exchange_slices_backward(form, size, per_receiver):
    operand, output, *slices = problem(size, per_receiver)
    tangents = normal(operand.shape), normal(output.shape)

    def of_rows(operand, output):
        return FORMS[form](size)(operand, output, *slices)

    result, tangent = jvp(of_rows, (operand, output), tangents)
    np.testing.assert_array_equal(result, reference(operand, output, *slices))
    np.testing.assert_array_equal(tangent, reference(*tangents, *slices))
    cotangent = normal(output.shape)
    cotangents = vjp(of_rows, operand, output)[1](cotangent)
    pulled = sum(np.vdot(c, t) for c, t in zip(cotangents, tangents, strict=True))
    np.testing.assert_allclose(pulled, np.vdot(cotangent, tangent), rtol=1e-4, atol=1e-4)


def test_tangents_of_a_single_operand():
    operand, output, *slices = problem(4, 1)
    tangent = normal(operand.shape)
    sent = jvp(lambda x: on_devices(4)(x, output, *slices), (operand,), (tangent,))[1]
    np.testing.assert_array_equal(sent, reference(tangent, np.zeros_like(output), *slices))
    tangent = normal(output.shape)
    kept = jvp(lambda x: on_devices(4)(operand, x, *slices), (output,), (tangent,))[1]
    np.testing.assert_array_equal(kept, reference(np.zeros_like(operand), tangent, *slices))


@pytest.mark.parametrize("form", ["vmap", "devices, compiled"])
def test_vmap_along_another_axis(form):
    first = problem(4, 2)
    others = (normal(first[0].shape), normal(first[1].shape))
    args = [np.stack([a, b], 2) for a, b in zip(first, others, strict=False)]
    batched = vmap(FORMS[form](4), in_axes=(2, 2, None, None, None, None), out_axes=1)
    result = np.asarray(batched(*args, *first[2:]))
    np.testing.assert_array_equal(result[:, 0], reference(*first))
    np.testing.assert_array_equal(result[:, 1], reference(*others, *first[2:]))
    shorter = [np.maximum(first[3] - 1, 0), first[4], np.maximum(first[5] - 1, 0)]
    sizes = [np.stack([a, b]) for a, b in zip(first[3:], shorter, strict=True)]
    of_sizes = vmap(FORMS[form](4), in_axes=(None, None, None, 0, 0, 0))
    result = np.asarray(of_sizes(*first[:3], *sizes))
    np.testing.assert_array_equal(result[0], reference(*first))
    np.testing.assert_array_equal(result[1], reference(*first[:3], *shorter))


@pytest.mark.parametrize("check_vma", [True, False])
def test_two_axes_of_a_mesh(check_vma):
    args = problem(8, 1)
    over_both = shard_map(
        lambda *args: lax.ragged_all_to_all(*(arg[0] for arg in args), axis_name=("x", "y"))[None],
        mesh=Mesh(np.array(devices()).reshape(2, 4), ("x", "y")),
        in_specs=(P(("x", "y")),) * 6,
        out_specs=P(("x", "y")),
        check_vma=check_vma,
    )
    np.testing.assert_array_equal(jit(over_both)(*args), reference(*args))


def test_two_axes_one_of_them_mapped():
    args = [arg.reshape(2, 4, *arg.shape[1:]) for arg in problem(8, 1)]
    over_both = vmap(
        lambda *args: lax.ragged_all_to_all(*args, axis_name=("x", "y")), axis_name="y"
    )
    with pytest.raises(NotImplementedError, match=r"ragged_all_to_all over the axes \('x', 'y'\)"):
        vmap(over_both, axis_name="x")(*args)


@pytest.mark.parametrize("platform", ["cuda", "rocm", "tpu"])
def test_accelerators_have_the_operation(platform):
    lowered = jit(on_devices(4)).lower(*problem(4, 1), lowering_platforms=(platform,))
    text = lowered.as_text()
    assert "@ragged_all_to_all(" in text
    assert "channel_id = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]>" in text


BAD = {
    "floats": ((3, lambda x: x.astype(np.float32)), ValueError, "send_sizes must be integer type"),
    "rank": ((2, lambda x: x[..., None]), ValueError, "input_offsets must be rank 1 with positive"),
    "lengths": ((5, lambda x: x[:, :2]), ValueError, r"one length .* the lengths \[4, 4, 4, 2\]"),
    "rows": ((0, lambda x: x[..., :2]), ValueError, "agree in all dimensions but the first"),
    "dtypes": ((1, lambda x: x.astype(np.int32)), TypeError, "same dtype, got float32 and int32"),
}


@pytest.mark.parametrize("name", BAD)
def test_malformed_arguments_raise(name):
    (place, change), error, text = BAD[name]
    args = list(problem(4, 1))
    args[place] = change(args[place])
    with pytest.raises(error, match=text):
        vmap(exchange, axis_name="x")(*args)


def test_unbound_axis_raises():
    with pytest.raises(NameError, match="unbound axis name: x"):
        exchange(*(arg[0] for arg in problem(4, 1)))


# ---- sending and receiving ----

PAIRS = [(0, 1), (1, 2)]
X = np.zeros((8, 2), np.float32)


def send_and_receive(x):
    token = lax.psend(x, "x", PAIRS)
    return lax.precv(token, ShapeDtypeStruct(x.shape, x.dtype), "x", PAIRS)


def transfer():
    mesh = Mesh(np.array(devices()[:4]), ("x",))
    return jit(shard_map(send_and_receive, mesh=mesh, in_specs=P("x"), out_specs=P("x")))


@pytest.mark.parametrize("platform", ["cuda", "rocm"])
def test_sending_and_receiving_on_gpus(platform):
    text = transfer().lower(X, lowering_platforms=(platform,)).as_text()
    pairs = (
        "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
        "source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>"
    )
    for operation in ("send", "recv"):
        assert text.count(f'"stablehlo.{operation}"') == 1
    assert text.count(pairs) == 2


def test_error_on_other_platforms_suggests_ppermute():
    with pytest.raises(NotImplementedError, match=r"psend .* for cpu.*lax\.ppermute"):
        transfer()(X)


def test_psend_and_precv_have_no_derivative_or_batching():
    with pytest.raises(NotImplementedError, match="ppermute can be batched"):
        vmap(send_and_receive, axis_name="x")(X)
    with pytest.raises(NotImplementedError, match="ppermute can be differentiated"):
        jvp(transfer(), (X,), (X,))


def test_precv_refuses_operands_other_than_tokens():
    with pytest.raises(TypeError, match="takes a token"):
        vmap(lambda x: lax.precv(x, x, "x", PAIRS), axis_name="x")(X)
    with pytest.raises(TypeError, match="one out_shape"):
        vmap(lambda x: lax.precv(lax.create_token(), (x, x), "x", PAIRS), axis_name="x")(X)

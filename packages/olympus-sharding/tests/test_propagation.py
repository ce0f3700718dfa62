# SPDX-License-Identifier: Apache-2.0
"""Types over explicit mesh axes: layouts of results, and refused programs.

The types and the wording of errors are those of JAX 0.10.2, recorded from JAX.
"""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad, jvp, vjp
from olympus_batching import vmap
from olympus_ir import ShapedArray, lax
from olympus_ir.diagnostics.errors import ShardingTypeError
from olympus_ir.programs.make import ShapeDtypeStruct, make_olympuspr
from olympus_ir.programs.primitives import primitives
from olympus_ir.programs.propagation import propagation_rules
from olympus_sharding import (
    AbstractMesh,
    AxisType,
    NamedSharding,
    PartitionSpec,
    auto_axes,
    explicit_axes,
    reshard,
    use_abstract_mesh,
)
from olympus_testing.completeness import assert_complete

P = PartitionSpec
MESH = AbstractMesh((2, 4), ("x", "y"), (AxisType.Explicit,) * 2)


def array(*entries, shape=None, dtype=np.float32, **groups):
    """Returns the type of an array with this sharding; sizes are eight by default."""
    spec = P(*entries, **groups)
    shape = (8,) * len(entries) if shape is None else shape
    return ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(MESH, spec))


def types(fun, *args):
    """Returns the types of a function's results, as text."""
    with use_abstract_mesh(MESH):
        program = make_olympuspr(fun)(*args)
    return [aval.str_short(True) for aval in program.out_avals]


A, B, C = array("x", None), array("x", "y"), array(None, "y")
YX, XY_N, WHOLE = array("y", "x"), array(("x", "y"), None), array(None, None)
V, W = array("x"), array("y")
BATCH = array("x", None, None, shape=(4, 8, 8))
I = array("x", dtype=np.int32)
U = array(None, "x", unreduced={"y"})
R = array(None, "x", reduced={"y"})


RESULTS = {
    "unary": (lax.sin, (A,), "f32[8@x,8]"),
    "same": (lax.add, (A, A), "f32[8@x,8]"),
    "whole operands follow": (lax.add, (WHOLE, A), "f32[8@x,8]"),
    "joined": (lax.add, (A, C), "f32[8@x,8@y]"),
    "scalars": (lambda x: lax.mul(x, np.float32(2)), (A,), "f32[8@x,8]"),
    "clamp": (lax.clamp, (A, B, A), "f32[8@x,8@y]"),
    "select": (lambda x, y: lax.select(lax.gt(x, y), x, y), (A, A), "f32[8@x,8]"),
    "parts of elements": (
        lambda x: lax.bitcast_convert_type(x, np.int8),
        (A,),
        "i8[8@x,8,4]",
    ),
    "sum": (lambda x: lax.reduce_sum(x, (0,)), (B,), "f32[8@y]"),
    "argmax": (lambda x: lax.argmax(x, 1, np.int32), (B,), "i32[8@x]"),
    "cumulative": (lambda x: lax.cumsum(x, 1), (A,), "f32[8@x,8]"),
    "broadcast": (lambda x: lax.broadcast_in_dim(x, (4, 8, 2), (1,)), (V,), "f32[4,8@x,2]"),
    "broadcast as asked": (
        lambda x: lax.broadcast_in_dim(x, (4, 8), (1,), out_sharding=P("y", None)),
        (V,),
        "f32[4@y,8]",
    ),
    "transpose": (lambda x: lax.transpose(x, (1, 0)), (B,), "f32[8@y,8@x]"),
    "flat": (lambda x: lax.reshape(x, (64,)), (A,), "f32[64@x]"),
    "flat over both": (lambda x: lax.reshape(x, (64,)), (B,), "f32[64@(x,y)]"),
    "divided": (lambda x: lax.reshape(x, (2, 4, 8)), (A,), "f32[2@x,4,8]"),
    "divided among two": (lambda x: lax.reshape(x, (2, 4, 8)), (XY_N,), "f32[2@x,4@y,8]"),
    "with ones": (lambda x: lax.reshape(x, (8, 1, 8)), (B,), "f32[8@x,1,8@y]"),
    "reshape as asked": (
        lambda x: lax.reshape(x, (64,), out_sharding=P("y")),
        (C,),
        "f32[64@y]",
    ),
    "concatenate": (lambda x: lax.concatenate([x, x], 0), (A,), "f32[16@x,8]"),
    "pad": (
        lambda x: lax.pad(x, np.float32(0), [(1, 1, 0), (0, 3, 0)]),
        (A,),
        "f32[10@x,11]",
    ),
    "slice": (lambda x: lax.slice(x, (0, 0), (4, 3)), (A,), "f32[4@x,3]"),
    "dynamic slice": (lambda x: lax.dynamic_slice(x, (0, 1), (8, 4)), (A,), "f32[8@x,4]"),
    "split": (lambda x: lax.split(x, (2, 6), 1)[1], (A,), "f32[8@x,6]"),
    "sort": (lambda x: lax.sort(x, dimension=1), (A,), "f32[8@x,8]"),
    "top_k": (lambda x: lax.top_k(x, 3)[1], (A,), "i32[8@x,3]"),
    "product": (lax.dot, (A, C), "f32[8@x,8@y]"),
    "product over a split dimension": (lax.dot, (B, WHOLE), "f32[8@x,8]"),
    "product as asked": (
        lambda x, y: lax.dot(x, y, out_sharding=P("x", None)),
        (C, YX),
        "f32[8@x,8]",
    ),
    "partial sums": (
        lambda x, y: lax.dot(x, y, out_sharding=P(None, "x", unreduced={"y"})),
        (C, YX),
        "f32[8,8@x]{U:y}",
    ),
    "batched product": (lax.batch_matmul, (BATCH, BATCH), "f32[4@x,8,8]"),
    "factors": (lambda x: lax.linalg.cholesky(x), (BATCH,), "f32[4@x,8,8]"),
    "fft": (lambda x: lax.fft(x, "rfft", (8,)), (A,), "c64[8@x,5]"),
    "iota as asked": (
        lambda: lax.broadcasted_iota(np.int32, (8, 2), 0, out_sharding=P("x", None)),
        (),
        "i32[8@x,2]",
    ),
    "full as asked": (
        lambda: lax.full((8, 2), np.float32(1), sharding=NamedSharding(MESH, P("x"))),
        (),
        "f32[8@x,2]",
    ),
    "like another": (lambda x: lax.full_like(x, 2), (B,), "f32[8@x,8@y]"),
    "reshard": (lambda x: reshard(x, P("y", "x")), (B,), "f32[8@y,8@x]"),
    "reshard to whole": (lambda x: reshard(x, P()), (B,), "f32[8,8]"),
    "terms of a sum": (lax.add, (U, U), "f32[8,8@x]{U:y}"),
    "terms, scaled": (lax.mul, (U, R), "f32[8,8@x]{U:y}"),
    "terms, summed": (lambda x: lax.reduce_sum(x, (0,)), (U,), "f32[8@x]{U:y}"),
    "terms, added up": (lambda x: reshard(x, P("y", "x")), (U,), "f32[8@y,8@x]"),
    "reduced": (lax.sin, (R,), "f32[8,8@x]{R:y}"),
    "scan": (
        lambda x: lax.scan(lambda c, r: (c, lax.sin(r)), np.float32(0), x)[1],
        (C,),
        "f32[8,8@y]",
    ),
    "while": (lambda x: lax.fori_loop(0, 3, lambda i, c: lax.sin(c), x), (A,), "f32[8@x,8]"),
    "cond": (lambda x: lax.cond(True, lax.sin, lax.cos, x), (A,), "f32[8@x,8]"),
    "vmap": (vmap(lambda r: lax.add(r, lax.full((8,), 1.0))), (B,), "f32[8@x,8@y]"),
    "vmap with another place": (
        vmap(lambda r: lax.mul(r, r), 1, 1),
        (B,),
        "f32[8@x,8@y]",
    ),
    "vmap of what is shared": (vmap(lambda r: lax.full((3,), 1.0)), (A,), "f32[8@x,3]"),
    "vmap of reshard": (vmap(lambda r: reshard(r, P("y"))), (A,), "f32[8@x,8@y]"),
    "vmap of a product": (vmap(lambda r, w: lax.dot(r, w), (0, None)), (A, C), "f32[8@x,8@y]"),
    "auto axes": (
        auto_axes(lambda x: lax.reshape(x, (64,)), out_sharding=P("y")),
        (C,),
        "f32[64@y]",
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_propagated_shardings(name):
    fun, args, expected = RESULTS[name]
    assert types(fun, *args) == [expected]


def _sum(x):
    return lax.reduce_sum(x, tuple(range(x.ndim)))


GRADIENTS = {
    "product": (lambda x, y: _sum(lax.sin(lax.dot(x, y))), (A, C), ["f32[8@x,8]", "f32[8,8@y]"]),
    "product as asked": (
        lambda x, y: _sum(lax.dot(x, y, out_sharding=P("x", None))),
        (C, YX),
        ["f32[8,8@y]", "f32[8@y,8@x]"],
    ),
    "whole operand": (lambda x, y: _sum(lax.mul(x, y)), (A, WHOLE), ["f32[8@x,8]", "f32[8,8]"]),
    "broadcast": (
        lambda x, y: _sum(lax.mul(x, lax.broadcast_in_dim(y, (8, 8), (1,)))),
        (A, W),
        ["f32[8@x,8]", "f32[8@y]"],
    ),
    "slices": (
        lambda x, y: _sum(lax.slice(x, (0, 1), (8, 3))),
        (A, A),
        ["f32[8@x,8]", "f32[8@x,8]"],
    ),
    "reduced": (
        lambda x, y: _sum(lax.dot(x, y)),
        (array("y", None), array(None, None, reduced={"y"})),
        ["f32[8@y,8]", "f32[8,8]{U:y}"],
    ),
    "reshape": (
        lambda x, y: _sum(lax.reshape(x, (64,), out_sharding=P("x"))),
        (B, B),
        ["f32[8@x,8@y]", "f32[8@x,8@y]"],
    ),
    "auto axes": (
        lambda x, y: _sum(auto_axes(lax.mul, out_sharding=P("x", None))(x, y)),
        (A, C),
        ["f32[8@x,8]", "f32[8,8@y]"],
    ),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_have_the_shardings_of_arguments(name):
    fun, args, expected = GRADIENTS[name]
    assert types(grad(fun, (0, 1)), *args) == expected


REFUSED = {
    "conflict": (
        lax.add,
        (A, YX),
        "add got incompatible shardings for broadcasting: .'x', None., ",
    ),
    "an axis twice": (
        lambda x, y: lax.add(x, lax.broadcast_in_dim(y, (1, 8), (1,))),
        (A, V),
        r"inputs: f32\[8@x,8\], f32\[1,8@x\] produces an illegally sharded result: f32\[8@x,8@x\]",
    ),
    "both contracted": (lax.dot, (C, YX), "Contracting dimensions are sharded and it is ambiguous"),
    "contracted differently": (lax.dot, (B, A), "contracting dimensions to have consistent"),
    "not contracted": (
        lambda x, y: lax.dot(x, y, out_sharding=P(None, None, unreduced={"y"})),
        (A, WHOLE),
        "out_sharding's unreduced axes should be equal to the contracting specs",
    ),
    "joined behind": (lambda x: lax.reshape(x, (64,)), (C,), "This reshape is not supported"),
    "divided unevenly": (
        lambda x: lax.reshape(x, (8, 2, 4)),
        (C,),
        r"Got operand type: float32\[8,8@y\], new sizes: \(8, 2, 4\)",
    ),
    "concatenated": (lambda x, y: lax.concatenate([x, y], 1), (A, B), "have the same sharding"),
    "padded unevenly": (
        lambda x: lax.pad(x, np.float32(0), [(0, 1, 0), (0, 0, 0)]),
        (A,),
        r"padding on sharded dims where out dim \(9\) is not divisible by mesh axes \(2\)",
    ),
    "one index": (lambda x: lax.dynamic_index_in_dim(x, 1, 0), (A,), r"out dim \(1\) is not"),
    "gathered": (
        lambda x, i: lax.gather(
            x,
            lax.reshape(i, (8, 1)),
            lax.GatherDimensionNumbers((1,), (0,), (0,)),
            (1, 8),
        ),
        (A, I),
        r"Use `.at\[...\].get\(out_sharding=\)`",
    ),
    "sorted along": (lambda x: lax.sort(x, dimension=0), (A,), "unsharded over the sorting"),
    "summed along": (lambda x: lax.cumsum(x, 0), (A,), "unsharded over the axis being reduced"),
    "largest along": (lambda x: lax.top_k(x, 2), (B,), "along which to compute the top_k"),
    "matrices": (lambda x: lax.linalg.lu(x), (A,), "Input 0 to lu must be unsharded on non-batch"),
    "update": (
        lambda x, y: lax.dynamic_update_slice(x, lax.slice(y, (0, 0), (8, 2)), (0, 1)),
        (A, WHOLE),
        "operand sharding must be equal to update sharding",
    ),
    "two sums": (lax.mul, (U, U), "cannot be unreduced since mul is bilinear"),
    "a sum and a value": (lax.add, (U, array(None, "x")), "lhs is unreduced while rhs is not"),
    "reduced and not": (lax.add, (R, array(None, "x")), "Inputs cannot be replicated on the same"),
    "kernel": (
        lambda x, k: lax.conv(x, k, (1, 1), "SAME"),
        (array("x", None, None, None), array("y", None, None, None, shape=(8, 8, 3, 3))),
        "output sharding via `out_sharding` parameter of `conv_general_dilated`",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_ambiguous_shardings_raise(name):
    fun, args, message = REFUSED[name]
    with pytest.raises(ShardingTypeError, match=message):
        types(fun, *args)


@pytest.mark.parametrize("fun", [lax.neg, lambda x: lax.rev(x, (0,)), lax.cumsum, lax.sin])
def test_primitives_without_unreduced_rule_raise(fun):
    with pytest.raises(NotImplementedError, match="unreduced.* rule for"):
        types(fun, U)


@pytest.mark.parametrize(
    "fun", [lambda x: lax.rev(x, (0,)), lambda x: lax.integer_pow(x, 3), lax.cumsum]
)
def test_primitives_without_reduced_rule_raise(fun):
    with pytest.raises(NotImplementedError, match="unreduced/reduced rule for"):
        types(fun, R)


def test_shaping_keeps_unreduced_axes():
    def arranged(x):
        return lax.transpose(x, (1, 0)), lax.slice(x, (0, 0), (4, 8)), lax.concatenate([x, x], 0)

    assert types(arranged, U) == ["f32[8@x,8]{U:y}", "f32[4,8@x]{U:y}", "f32[16,8@x]{U:y}"]


def test_reduced_operands_need_reduced_operands():
    with pytest.raises(ShardingTypeError, match="cannot be sharded/varying on the same axes"):
        types(lax.add, R, YX)
    with pytest.raises(ShardingTypeError, match="cannot be replicated on the same axes"):
        types(lax.add, R, array(None, "x"))


def test_sharded_axes_are_removed_from_reduced():
    def spread(x):
        return lax.broadcast_in_dim(x, (4, 8), (1,), out_sharding=P("y", None))

    assert types(spread, array(None, reduced={"y"})) == ["f32[4@y,8]"]


def test_reshapes_keep_unreduced_axes():
    def flat(out_sharding):
        return lambda x: lax.reshape(x, (64,), out_sharding=out_sharding)

    with pytest.raises(ValueError, match="must be unreduced over the same mesh axes"):
        types(flat(P("y")), U)
    with pytest.raises(ValueError, match="must be reduced over the same mesh axes"):
        types(flat(P("y")), R)
    with pytest.raises(ValueError, match="cannot contain unreduced"):
        types(flat(P(unreduced={"y"})), array(None, None))


def test_reduce_sum_follows_out_sharding():
    def total(x):
        return lax.reduce_sum(x, (1,), out_sharding=P(None, unreduced={"x"}))

    assert types(total, U) == ["f32[8]{U:x}"]


def test_dot_general_batches_follow_the_left_operand():
    def batched(x, y):
        return lax.dot_general(x, y, (((2,), (2,)), ((0,), (0,))))

    left, right = array("x", None, None, shape=(4, 8, 8)), array(None, None, None, shape=(4, 8, 8))
    assert types(batched, left, right) == ["f32[4@x,8,8]"]
    assert types(batched, right, left) == ["f32[4,8,8]"]


def test_sharded_dimensions_must_be_divisible():
    with pytest.raises(ValueError, match="does not evenly divide the dimension size 5"):
        ShapedArray((5,), np.float32, sharding=NamedSharding(MESH, P("x")))


def test_out_sharding_must_be_over_context_mesh():
    other = NamedSharding(AbstractMesh((2, 4), ("x", "y"), (AxisType.Auto,) * 2), P())
    with pytest.raises(ValueError, match="Context mesh .* should match the mesh of sharding"):
        types(lambda x: lax.reshape(x, (64,), out_sharding=other), WHOLE)


def test_auto_axes_without_explicit_axes_is_no_op():
    mesh = AbstractMesh((2,), ("x",), (AxisType.Auto,))
    with use_abstract_mesh(mesh):
        program = make_olympuspr(auto_axes(lambda x: lax.mul(x, x), out_sharding=P("x")))(
            np.ones(2)
        )
    assert [equation.primitive.name for equation in program.eqns] == ["mul"]


def test_spmd_axis_is_used_once():
    with pytest.raises(ValueError, match="Unmapped values passed to vmap cannot be sharded"):
        types(vmap(lax.add, in_axes=(0, None)), array("x", None), array("x"))


def test_batched_dynamic_slices():
    def updated(x, start):
        return lax.dynamic_update_slice(x, lax.full((2,), 1.0), (start,))

    def rows(x, start):
        return lax.dynamic_slice(x, (start, 0), (1, 8))

    assert types(vmap(updated), A, I) == ["f32[8@x,8]"]
    assert types(vmap(rows), BATCH, array("x", shape=(4,), dtype=np.int32)) == ["f32[4@x,1,8]"]


def test_scanned_dimensions_must_be_unsharded():
    with pytest.raises(ValueError, match="0th dimension of all xs should be replicated"):
        types(lambda x: lax.scan(lambda c, r: (c, r), np.float32(0), x), A)
    with pytest.raises(TypeError, match=r"type float32\[8,8\] but .* type float32\[8@x,8\]"):
        types(lambda x: lax.fori_loop(0, 2, lambda i, c: lax.add(c, x), lax.full((8, 8), 0.0)), A)


def test_batch_shardings_must_agree():
    with pytest.raises(ValueError, match="inconsistent axis specs: x vs y"):
        types(vmap(lax.add), A, array("y", None))
    with pytest.raises(ValueError, match="Only one of spmd_axis_name or arrays sharded on"):
        types(vmap(lax.neg, spmd_axis_name="y"), A)
    assert types(vmap(lax.neg, spmd_axis_name="x"), A) == ["f32[8@x,8]"]


def test_invalid_requested_shardings_raise():
    with use_abstract_mesh(MESH):
        with pytest.raises(ValueError, match="Resource axis: z of .* is not found in mesh"):
            reshard(np.zeros(8), P("z"))
        with pytest.raises(ValueError, match="does not evenly divide the dimension size 3"):
            make_olympuspr(lambda: lax.broadcast(0.0, (3,), out_sharding=P("x")))()
        with pytest.raises(TypeError, match="only supports instances of `NamedSharding`"):
            lax.broadcast(0.0, (4,), out_sharding=("x",))
    with pytest.raises(ValueError, match="not under a mesh context"):
        lax.broadcast(0.0, (4,), out_sharding=P("x"))
    auto = AbstractMesh((2,), ("x",))
    with use_abstract_mesh(auto), pytest.raises(ValueError, match="of type Auto or Manual"):
        lax.broadcast(0.0, (4,), out_sharding=P("x"))


def test_values_over_another_mesh_raise():
    other = AbstractMesh((4, 2), ("x", "y"), (AxisType.Explicit,) * 2)
    x = ShapeDtypeStruct((8,), np.float32, sharding=NamedSharding(other, P("x")))
    with use_abstract_mesh(MESH), pytest.raises(ValueError, match="should match the aval mesh"):
        make_olympuspr(lax.sin)(x)


def test_meshes_with_axes_of_two_types():
    mesh = AbstractMesh((2, 4), ("x", "y"), (AxisType.Auto, AxisType.Explicit))
    x = ShapeDtypeStruct((8, 8), np.float32, sharding=NamedSharding(mesh, P("x", "y")))
    with use_abstract_mesh(mesh):
        program = make_olympuspr(lambda x: lax.transpose(x, (1, 0)))(x)
    assert str(program) == (
        "{ lambda ; a:f32[8,8@y]. let\n"
        "    b:f32[8@y,8] = transpose[permutation=(1, 0)] a\n"
        "  in (b,) }"
    )


def test_the_text_of_programs():
    with use_abstract_mesh(MESH):
        program = make_olympuspr(lambda x, y: lax.dot(lax.sin(x), reshard(y, P(None, "y"))))(A, B)
    assert str(program) == (
        "{ lambda ; a:f32[8@x,8] b:f32[8@x,8@y]. let\n"
        "    c:f32[8@x,8] = sin a\n"
        "    d:f32[8,8@y] = reshard b\n"
        "    e:f32[8@x,8@y] = dot_general[dimension_numbers=(([1], [0]), ([], []))] c d\n"
        "  in (e,) }"
    )


def test_auto_axes_and_explicit_axes_nest():
    seen = []

    def inner(x):
        seen.append(x.aval.str_short())
        return lax.neg(x)

    def middle(x):
        seen.append(x.aval.str_short())
        return explicit_axes(inner, in_sharding=P("x", "y"))(x)

    assert types(auto_axes(middle, out_sharding=P("y", None)), B) == ["f32[8@y,8]"]
    assert seen == ["float32[8,8]", "float32[8@x,8@y]"]
    assert types(auto_axes(lax.neg, axes="y", out_sharding=P("x", "y")), B) == ["f32[8@x,8@y]"]
    with use_abstract_mesh(MESH), pytest.raises(TypeError, match="Missing required keyword"):
        auto_axes(lax.neg)(np.ones(2))
    with pytest.raises(ValueError, match="Context mesh cannot be empty"):
        explicit_axes(lax.neg, in_sharding=P("x"))(np.ones(2))


def test_tangents_and_cotangents_have_shardings_of_values():
    def directional(x, t):
        return jvp(lax.sin, (x,), (t,))[1]

    assert types(directional, A, C) == ["f32[8@x,8]"]
    assert types(lambda x, ct: vjp(lax.sin, x)[1](ct), A, WHOLE) == ["f32[8@x,8]"]
    with pytest.raises(ValueError, match=r"got float32\[8,8@y\], but expected float32\[8@x,8\]"):
        types(lambda x, ct: vjp(lax.sin, x)[1](ct), A, C)


def test_each_primitive_has_a_rule():
    assert_complete(propagation_rules, primitives())

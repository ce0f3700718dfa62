# SPDX-License-Identifier: Apache-2.0
"""Functions with custom partitioning: rules, and the partitioned programs."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_ir import lax
from olympus_ir.diagnostics.errors import MissingRuleError
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla import device_put, jit
from olympus_xla.foreign.custom_partitioning import custom_partitioning
from olympus_xla.foreign.sharding_rules import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    parse_sharding_rule,
)

P = PartitionSpec
F32 = np.float32
X = np.arange(32, dtype=F32).reshape(8, 4)
W = np.linspace(-1, 1, 24, dtype=F32).reshape(4, 6)


# ---- rules ----


@pytest.mark.parametrize(
    ("rule", "shapes", "text"),
    [
        (
            "i j, j k -> i k",
            ([(8, 4), (4, 6)], [(8, 6)]),
            "([i, j], [j, k])->([i, k]) {i=8, j=4, k=6}",
        ),
        (
            "... j, j -> ...",
            ([(2, 8, 4), (4,)], [(2, 8)]),
            "([i, j, k], [k])->([i, j]) {i=2, j=8, k=4}",
        ),
        ("b -> ", ([(3,)], []), "([i])->() {i=3}"),
    ],
)
def test_rules_for_shapes(rule, shapes, text):
    assert (
        parse_sharding_rule(rule).attribute_text(*shapes)
        == f"#sdy.op_sharding_rule<{text}, custom>"
    )


def test_compound_and_special_factors():
    rule = parse_sharding_rule("(a b) j, j k -> (a b) k", ["j"], ["k"], a=2, b=4)
    assert rule.attribute_text([(8, 4), (4, 6)], [(8, 6)]) == (
        "#sdy.op_sharding_rule<([ij, k], [k, l])->([ij, l]) {i=2, j=4, k=4, l=6} "
        "reduction={k} need_replication={l}, custom>"
    )


def test_ellipses_need_no_space_after_them():
    assert parse_sharding_rule("...i, ... i -> ...i") == parse_sharding_rule(
        "... i, ... i -> ... i"
    )
    assert parse_sharding_rule("...1 i, ...2i -> ...1 i").operand_mappings == (
        ("…1", "i"),
        ("…2", "i"),
    )


def test_sizes_are_integers():
    with pytest.raises(TypeError, match="factor_sizes must be a dict of str to int"):
        parse_sharding_rule("(i j) -> k", i="j", j=2)


def test_texts_of_rules_name_the_kinds_of_factors():
    text = repr(parse_sharding_rule("i j -> i", reduction_factors=("j",)))
    assert text == "SdyShardingRule((('i', 'j'),), (('i',),), {} reduction_factors=('j',))"


@pytest.mark.parametrize(
    ("rule", "operands", "results"),
    [("->", [()], [()]), ("i j ->", [(2, 3)], [()]), (", i -> i", [(), (2,)], [(2,)])],
)
def test_rules_of_scalars(rule, operands, results):
    parsed = parse_sharding_rule(rule)
    assert len(parsed.operand_mappings) == len(operands)
    assert len(parsed.result_mappings) == len(results)
    text = parsed.attribute_text(operands, results)
    assert text.count("[]") == sum(shape == () for shape in (*operands, *results))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: parse_sharding_rule("i j, j k"), "There is no -> in rule"),
        (lambda: parse_sharding_rule("i -> i -> i"), "more than one ->"),
        (lambda: parse_sharding_rule("((i j)) -> i"), "one level"),
        (lambda: parse_sharding_rule("(i j) -> i", i=2, j=3), "Factor i represents a whole"),
        (lambda: parse_sharding_rule("(... j) -> j"), "only be used at the beginning of a dim"),
        (lambda: parse_sharding_rule("…j -> …j"), "Unknown character '…'"),
        (lambda: parse_sharding_rule("(i ) -> i"), "Brackets should contain at least two factors"),
        (lambda: parse_sharding_rule("(i j -> i"), "not balanced"),
        (lambda: parse_sharding_rule("(i j) -> i"), "Factor j is only used in compound factors"),
        (lambda: parse_sharding_rule("i -> i", i=3), "Factor i represents a whole dimension"),
        (lambda: parse_sharding_rule("i -> i", z=3), "Factor z is not used in the rule"),
        (lambda: parse_sharding_rule("i -> i", ["z"]), "Factor z in reduction_factors is not used"),
        (lambda: parse_sharding_rule("i j -> j", ["i"], ["i"]), "can only be in one of"),
        (lambda: CompoundFactor("i"), "at least two factors"),
        (lambda: ArrayMapping("1i"), "have to start with a letter"),
        (lambda: ArrayMapping("i", BATCHING), "only be used at the beginning"),
        (lambda: ArrayMapping(3), "must be a str or CompoundFactor"),
        (
            lambda: parse_sharding_rule("i -> i").attribute_text([(2, 3)], [(2,)]),
            "has 1 dimensions for array 0, which has 2",
        ),
        (
            lambda: parse_sharding_rule("i, i -> i").attribute_text([(2,), (3,)], [(2,)]),
            r"dimension 0 of array 1, of shape \(3,\), has size 3",
        ),
    ],
)
def test_invalid_rules_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ---- partitioned programs ----


def product(seen):
    """Returns a product partitioned by rows, which records the types that it is given."""

    @custom_partitioning
    def multiply(x, w):
        return lax.dot(lax.sin(x), w)

    def partition(mesh, arg_shapes, result_shape):
        seen.append((arg_shapes, result_shape))
        rows, whole = NamedSharding(mesh, P("x", None)), NamedSharding(mesh, P())

        def on_one_device(x, w):
            seen.append(x.shape)
            return lax.dot(lax.sin(x), w)

        return mesh, on_one_device, rows, (rows, whole)

    multiply.def_partition(partition=partition, sharding_rule="i j, j k -> i k")
    return multiply


def test_partitioned_calls_run_on_shards(mesh):
    seen = []
    multiply = product(seen)
    x = device_put(X, NamedSharding(mesh, P("x", "y")))
    result = jit(multiply)(x, W)
    np.testing.assert_allclose(result, np.sin(X) @ W, rtol=1e-5)
    assert result.sharding.is_equivalent_to(NamedSharding(mesh, P("x", None)), 2)
    (arg_shapes, result_shape), part = seen
    assert arg_shapes[0].shape == (8, 4)
    assert arg_shapes[0].sharding.spec == P("x", "y")
    assert result_shape.shape == (8, 6)
    assert part == (4, 4)


def test_collectives_of_one_device(mesh):
    """The contracted dimension is partitioned, and the function sums the partial products."""

    @custom_partitioning
    def multiply(x, w):
        return lax.dot(x, w)

    def partition(mesh, arg_shapes, result_shape):
        left, right = NamedSharding(mesh, P(None, "y")), NamedSharding(mesh, P("y", None))
        summed = lambda x, w: lax.psum(lax.dot(x, w), "y")  # noqa: E731
        return mesh, summed, NamedSharding(mesh, P()), (left, right)

    multiply.def_partition(
        partition=partition, sharding_rule="i j, j k -> i k", reduction_factors=("j",)
    )
    x = device_put(X, NamedSharding(mesh, P(None, "y")))
    np.testing.assert_allclose(jit(multiply)(x, W), X @ W, rtol=1e-5)


def test_several_results_and_static_arguments(mesh):
    @custom_partitioning
    def pair(x):
        return lax.sin(x), lax.reduce_sum(x, (1,))

    scaled = custom_partitioning(lambda x, n: lax.mul(x, F32(n)), static_argnums=(1,))

    def partition(mesh, arg_shapes, result_shapes):
        rows, vector = NamedSharding(mesh, P("x", None)), NamedSharding(mesh, P("x"))
        return mesh, lambda x: (lax.sin(x), lax.reduce_sum(x, (1,))), (rows, vector), (rows,)

    def scaled_partition(n, mesh, arg_shapes, result_shape):
        rows = NamedSharding(mesh, P("x", None))
        return mesh, lambda x: lax.mul(x, F32(n)), rows, (rows,)

    pair.def_partition(partition=partition, sharding_rule="i j -> i j, i")
    scaled.def_partition(partition=scaled_partition, sharding_rule="i j -> i j")
    x = device_put(X, NamedSharding(mesh, P("x", None)))
    sine, total = jit(pair)(x)
    np.testing.assert_allclose(sine, np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(total, X.sum(1), rtol=1e-6)
    np.testing.assert_allclose(jit(lambda x: scaled(x, 3))(x), 3 * X, rtol=1e-6)


def test_mismatched_shard_shape_raises(mesh):
    @custom_partitioning
    def same(x):
        return x

    def partition(mesh, arg_shapes, result_shape):
        rows = NamedSharding(mesh, P("x", None))
        return mesh, lambda x: lax.concatenate([x, x], 0), rows, (rows,)

    same.def_partition(partition=partition, sharding_rule="i j -> i j")
    x = device_put(X, NamedSharding(mesh, P("x", None)))
    with pytest.raises(Exception, match="Mismatch in result shapes of custom_partitioning"):
        jit(same)(x)


def test_one_device_and_no_rule(mesh):
    multiply = product([])
    np.testing.assert_allclose(multiply(X, W), np.sin(X) @ W, rtol=1e-5)
    with pytest.raises(MissingRuleError, match="custom_partitioning"):
        grad(lambda x: lax.reduce_sum(multiply(x, W), (0, 1)))(X)
    with pytest.raises(AttributeError, match="call def_partition before"):
        custom_partitioning(lax.sin)(X)
    without = custom_partitioning(lax.sin)
    without.def_partition(partition=max, infer_sharding_from_operands=max)
    x = device_put(X, NamedSharding(mesh, P("x", None)))
    with pytest.raises(NotImplementedError, match="Need to provide sharding_rule"):
        jit(without)(x)
    with pytest.raises(ValueError, match="with a sharding_rule that is a string"):
        without.def_partition(
            partition=max,
            sharding_rule=SdyShardingRule((ArrayMapping("i"),), (ArrayMapping("i"),)),
            reduction_factors=("i",),
        )

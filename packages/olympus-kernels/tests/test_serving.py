# SPDX-License-Identifier: Apache-2.0
"""Comparison of products of groups, and of attention to keys in pages, with NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import grad
from olympus_kernels.gpu import decode_attention, paged_attention
from olympus_kernels.tpu import quantization
from olympus_kernels.tpu.attention import ragged
from olympus_kernels.tpu.attention.paged import paged_attention as tpu_paged_attention
from olympus_kernels.tpu.grouped_matmul import differentiable_gmm, gmm, tgmm
from olympus_pallas import tpu

RNG = np.random.default_rng(0)
TILES = (8, 4, 4)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def spans(sizes):
    ends = np.cumsum(sizes)
    return list(zip(ends - sizes, ends, strict=True))


def products(x, matrices, sizes, first=0):
    """Returns the products of the rows of groups; zeros for groups without a matrix."""
    out = np.zeros((len(x), matrices.shape[2]), np.float32)
    for (start, end), matrix in zip(spans(sizes)[first:], matrices, strict=False):
        out[start:end] = x[start:end] @ matrix
    return out


@pytest.mark.parametrize("sizes", [(3, 0, 13, 9), (0, 0, 0, 0), (25, 0, 0, 0), (8, 8, 8, 1)])
class TestGroups:
    def test_grouped_products_agree_with_loops(self, sizes):
        sizes, x, matrices = np.int32(sizes), normal(25, 10), normal(4, 10, 13)
        out = gmm(x, matrices, sizes, tiling=TILES, interpret=True)
        np.testing.assert_allclose(out, products(x, matrices, sizes), atol=1e-5)
        swapped = np.swapaxes(matrices, 1, 2)
        out = gmm(x, swapped, sizes, tiling=TILES, transpose_rhs=True, interpret=True)
        np.testing.assert_allclose(out, products(x, matrices, sizes), atol=1e-5)

    def test_subset_of_groups(self, sizes):
        sizes, x, matrices, before = np.int32(sizes), normal(25, 10), normal(2, 10, 13), 7.0
        existing = np.full((25, 13), before, np.float32)
        offset = np.int32([1])
        out = gmm(x, matrices, sizes, np.float32, TILES, offset, existing, interpret=True)
        expected = products(x, matrices, sizes, 1)
        (start, _), (_, end) = spans(sizes)[1], spans(sizes)[2]
        expected[:start] = expected[end:] = before
        np.testing.assert_allclose(out, expected, atol=1e-5)

    def test_derivatives_of_grouped_products_agree_with_loops(self, sizes):
        sizes, x, matrices, slope = (
            np.int32(sizes),
            normal(25, 10),
            normal(4, 10, 13),
            normal(25, 13),
        )

        def loss(x, matrices):
            out = differentiable_gmm(x, matrices, sizes, np.float32, TILES, None, None, False, True)
            return jnp.sum(out * slope)

        of_x, of_matrices = grad(loss, (0, 1))(x, matrices)
        expected = products(slope, np.swapaxes(matrices, 1, 2), sizes)
        np.testing.assert_allclose(of_x, expected, atol=1e-5)
        expected = [x[start:end].T @ slope[start:end] for start, end in spans(sizes)]
        np.testing.assert_allclose(of_matrices, expected, atol=1e-5)


def test_infinite_rows_stay_in_their_group():
    x, y = normal(4, 8), normal(8, 4)
    x[:, 3:] = np.inf
    out = tgmm(x, y, np.int32([3, 5]), tiling=TILES, interpret=True)
    np.testing.assert_allclose(out[0], x[:, :3] @ y[:3], atol=1e-5)


def test_group_sizes_of_other_dtypes_raise():
    with pytest.raises(ValueError, match="int32"):
        gmm(normal(4, 4), normal(1, 4, 4), np.int16([4]), interpret=True)


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


LENGTHS = np.int32([20, 33, 7, 1])
TABLE = np.int32([[1, 2, 0, 0], [3, 4, 5, 0], [6, 0, 0, 0], [7, 0, 0, 0]])
HEADS, KV_HEADS, SIZE, PAGE = 4, 2, 16, 16


def attention(q, k, v, cap=None, hidden=None):
    """Computes attention of queries [heads, queries, size] to keys [keys, heads of keys, size]."""
    k, v = (np.repeat(x, q.shape[0] // x.shape[1], axis=1).astype(np.float64) for x in (k, v))
    scores = np.einsum("hqd,khd->hqk", q, k)
    scores = scores if cap is None else cap * np.tanh(scores / cap)
    scores = scores if hidden is None else np.where(hidden, -np.inf, scores)
    return np.einsum("hqk,khd->qhd", softmax(scores), v)


class TestPages:
    q = normal(4, HEADS, SIZE)
    k, v = normal(KV_HEADS, 9, PAGE, SIZE), normal(KV_HEADS, 9, PAGE, SIZE)

    def expected(self, cap=None):
        out = []
        for i, length in enumerate(LENGTHS):
            keys, values = (
                x[:, TABLE[i]].reshape(KV_HEADS, -1, SIZE)[:, :length].swapaxes(0, 1)
                for x in (self.k, self.v)
            )
            out.append(attention(self.q[i][:, None], keys, values, cap)[0])
        return out

    @pytest.mark.parametrize("cap", [None, 2.0])
    def test_one_query_per_sequence(self, cap):
        options = {"attn_logits_soft_cap": cap}
        with tpu.force_tpu_interpret_mode():
            out = tpu_paged_attention(
                self.q, self.k, self.v, LENGTHS, TABLE, pages_per_compute_block=2, **options
            )
        np.testing.assert_allclose(out, self.expected(cap), atol=1e-5)
        out = paged_attention.paged_attention(
            self.q, self.k, self.v, TABLE, LENGTHS, k_splits=3, interpret=True, **options
        )
        np.testing.assert_allclose(out, self.expected(cap), atol=1e-5)

    def test_quantized_pages_give_nearly_the_same_attention(self):
        k, v = (quantization.quantize_to_int8(x) for x in (self.k, self.v))
        with tpu.force_tpu_interpret_mode():
            out = tpu_paged_attention(self.q, k, v, LENGTHS, TABLE, pages_per_compute_block=1)
        np.testing.assert_allclose(out, self.expected(), atol=0.1)
        scales = (k.scales[..., 0], v.scales[..., 0])
        other = paged_attention.paged_attention(
            self.q, k.weight, v.weight, TABLE, LENGTHS, *scales, interpret=True
        )
        np.testing.assert_allclose(other, out, atol=1e-4)

    def test_invalid_operands_raise(self):
        with pytest.raises(ValueError, match="pages_per_compute_block"):
            tpu_paged_attention(self.q, self.k, self.v, LENGTHS, TABLE, pages_per_compute_block=3)


@pytest.mark.parametrize("options", [{}, {"sliding_window": 6}, {"soft_cap": 2.0, "sm_scale": 0.3}])
@pytest.mark.parametrize("number", [4, 2])
def test_ragged_queries_agree_with_array_operations(options, number):
    q, pages = normal(24, HEADS, SIZE), normal(9, PAGE, 2 * KV_HEADS, SIZE)
    starts = np.int32([0, 5, 20, 21, 22])
    expected = np.zeros_like(q)
    for i, (start, end) in enumerate(itertools.pairwise(starts[: number + 1])):
        rows = pages[TABLE[i]].reshape(-1, 2 * KV_HEADS, SIZE)[: LENGTHS[i]]
        place = np.arange(LENGTHS[i] - (end - start), LENGTHS[i])[:, None]
        key = np.arange(LENGTHS[i])
        hidden = (key > place) | (key <= place - options.get("sliding_window", 1000))
        scaled = q[start:end].swapaxes(0, 1) * options.get("sm_scale", 1.0)
        expected[start:end] = attention(
            scaled, rows[:, 0::2], rows[:, 1::2], options.get("soft_cap"), hidden
        )
    given = (q, pages, LENGTHS, TABLE, starts, np.int32([number]))
    blocks = {"num_kv_pages_per_block": 2, "num_queries_per_block": 8}
    with tpu.force_tpu_interpret_mode():
        out = ragged.ragged_paged_attention(*given, **options, **blocks)
    np.testing.assert_allclose(out, expected, atol=1e-5)
    ragged.dynamic_validate_inputs(*given, **options)
    out = ragged.ref_ragged_paged_attention(*given, **options)
    np.testing.assert_allclose(out, expected[: starts[number]], atol=1e-5)


@pytest.mark.parametrize("span", [(None, None), (None, (9, 40)), ((3, 20), (9, 40))])
def test_keys_shared_by_programs(span):
    q, k, v = normal(2, 6, 12), normal(2, 48, 2, 12), normal(2, 48, 2, 12)
    starts, ends = (
        ((0, 0) if span[0] is None else span[0]),
        ((48, 48) if span[1] is None else span[1]),
    )
    expected = [
        attention(q[b][:, None] * 12**-0.5, k[b, start:end], v[b, start:end])[0]
        for b, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]
    given = [None if each is None else np.int32(each) for each in span]
    out, (total, maximum) = decode_attention.gqa(
        q, k, v, *given, block_k=16, k_splits=3, interpret=True, return_residuals=True
    )
    np.testing.assert_allclose(out, expected, atol=1e-5)
    same = decode_attention.gqa_reference(q, k, v, *given, return_residuals=True)
    np.testing.assert_allclose(np.log(total) + maximum, np.log(same[1][0]) + same[1][1], atol=1e-5)
    out = decode_attention.mqa(q, k[:, :, 0], v[:, :, 0], *given, interpret=True)
    np.testing.assert_allclose(out[:, :3], np.stack(expected)[:, :3], atol=1e-5)

# SPDX-License-Identifier: Apache-2.0
"""Comparison of attention by blocks and its derivatives with attention by its definition."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_export import DisabledSafetyCheck, export
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_kernels.tpu.attention import flash, masks, splash
from olympus_kernels.tpu.attention.mask_blocks import FULL, NONE, PARTIAL, mask_blocks
from olympus_kernels.tpu.attention.masks import (
    CausalMask,
    ChunkedCausalMask,
    FullMask,
    LocalMask,
    MultiHeadMask,
    NumpyMask,
)
from olympus_pallas import tpu
from olympus_xla import jit

SHAPE = (32, 48)


def blocks(q, kv):
    return splash.BlockSizes(q, kv, kv, q, kv, kv, q, kv)


def operands(heads, kv_heads, queries, keys, size=8, size_of_values=4):
    rng = np.random.default_rng(0)
    of_keys = () if kv_heads is None else (kv_heads,)
    shapes = (heads, queries, size), (*of_keys, keys, size), (*of_keys, keys, size_of_values)
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def softmax_attention(mask, q, k, v, sinks=None, cap=None):
    """Computes attention in NumPy, in double precision."""
    heads = q.shape[0]
    k, v = (np.broadcast_to(x, (heads, *x.shape)) if x.ndim == 2 else x for x in (k, v))
    k, v = (np.repeat(x, heads // x.shape[0], axis=0).astype(np.float64) for x in (k, v))
    scores = np.einsum("hqd,hkd->hqk", q.astype(np.float64), k)
    scores = scores if cap is None else cap * np.tanh(scores / cap)
    weights = np.where(mask, np.exp(scores), 0)
    total = weights.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks.astype(np.float64))[:, None, None]
    return np.einsum("hqk,hkd->hqd", weights / total, v), np.log(total[..., 0])


class TestMasks:
    def test_masks_by_indexing(self):
        q, k = np.indices((4, 6))
        expected = {
            CausalMask((4, 6), 1): q + 1 >= k,
            ChunkedCausalMask((4, 6), 3): (q // 3 == k // 3) & (q >= k),
            LocalMask((4, 6), (1, 2), 1): (k >= q) & (k <= q + 3),
            LocalMask((4, 6), (None, 0), 0): k <= q,
            FullMask((4, 6)): np.ones((4, 6), bool),
        }
        for mask, wanted in expected.items():
            np.testing.assert_array_equal(mask[:, :], wanted)
            np.testing.assert_array_equal(mask[1:3, 2:], wanted[1:3, 2:])
            np.testing.assert_array_equal(NumpyMask(wanted)[1:3, 2:], wanted[1:3, 2:])

    def test_masks_combine_by_and_and_or(self):
        left, right = CausalMask((4, 4)), LocalMask((4, 4), (1, 1), 0)
        np.testing.assert_array_equal((left & right)[:, :], left[:, :] & right[:, :])
        np.testing.assert_array_equal((left | right)[:, :], left[:, :] | right[:, :])
        both = MultiHeadMask([left, right])
        np.testing.assert_array_equal(both[:, 1:, :2], [left[1:, :2], right[1:, :2]])
        np.testing.assert_array_equal(both[1, 1:, :2], right[1:, :2])

    def test_masks_are_equal_by_content(self):
        assert CausalMask((4, 4)) == CausalMask((4, 4)) != CausalMask((4, 4), 1)
        assert hash(NumpyMask(np.eye(2, dtype=bool))) == hash(NumpyMask(np.eye(2, dtype=bool)))
        assert FullMask((2, 2)) & CausalMask((2, 2)) == FullMask((2, 2)) & CausalMask((2, 2))

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: NumpyMask(np.ones((2, 2))), "booleans"),
            (lambda: NumpyMask(np.ones(2, bool)), "queries and keys"),
            (lambda: MultiHeadMask([]), "a mask for each"),
            (lambda: MultiHeadMask([FullMask((2, 2)), FullMask((2, 3))]), "one shape"),
            (lambda: ChunkedCausalMask((4, 4), 0), "chunk_size must be positive"),
            (lambda: masks.make_chunk_attention_mask((4, 4), -1), "chunk_size must be positive"),
            (lambda: CausalMask((2, 2)) | CausalMask((3, 3)), "equal shapes"),
            (lambda: CausalMask((3, 3), shard_count=2), "over 2 shards"),
        ],
    )
    def test_unsuitable_masks_raise(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()

    def test_bool_of_a_mask_raises(self):
        with pytest.raises(NotImplementedError, match="& and"):
            bool(CausalMask((2, 2)))

    def test_random_masks_follow_the_seed(self):
        mask = masks.make_random_mask((64, 64), 0.25, seed=1)
        assert 0.7 < mask.mean() < 0.8
        np.testing.assert_array_equal(mask, masks.make_random_mask((64, 64), 0.25, seed=1))

    def test_blocks_of_masks_are_classified(self):
        cut = mask_blocks(MultiHeadMask([CausalMask((8, 8))] * 2), 4, 4, shards=1)
        assert cut.kinds.tolist() == [[[PARTIAL, NONE], [FULL, PARTIAL]]]
        assert cut.inner.tolist() == [[[0, 0], [0, 1]]]  # nothing is loaded for the hidden block
        np.testing.assert_array_equal(cut.blocks, np.tri(4)[None])
        across = mask_blocks(MultiHeadMask([CausalMask((8, 8))]), 4, 4, shards=1, by_keys=True)
        assert across.kinds.tolist() == [[[PARTIAL, FULL], [NONE, PARTIAL]]]
        assert across.inner.tolist() == [[[0, 1], [1, 1]]]


CASES = {
    "causal": {"mask": MultiHeadMask([CausalMask(SHAPE, 16)] * 2)},
    "heads": {
        "mask": MultiHeadMask(
            [LocalMask(SHAPE, (9, 2), 4), CausalMask(SHAPE), FullMask(SHAPE), FullMask(SHAPE)]
        ),
        "heads": 4,
        "soft_cap": 3.0,
    },
    "array, sinks": {"mask": np.stack([masks.make_causal_mask(SHAPE, 3)] * 2), "sinks": True},
    "one head of keys": {"mask": MultiHeadMask([ChunkedCausalMask(SHAPE, 24)] * 2), "kv_heads": 1},
    "no heads of keys": {"mask": MultiHeadMask([CausalMask(SHAPE)] * 2), "kv_heads": None},
    "segments": {"mask": MultiHeadMask([CausalMask(SHAPE, 16)] * 2), "segments": True},
}


@pytest.mark.thorough("causal", "one head of keys", "no heads of keys")
@pytest.mark.parametrize("name", CASES)
def test_splash_attention_agrees_with_array_operations(name):
    case = {"heads": 2, "kv_heads": 2, "sinks": False, "soft_cap": None, **CASES[name]}
    mask, cap = case["mask"], case["soft_cap"]
    q, k, v = operands(case["heads"], case["kv_heads"], *SHAPE)
    sinks = np.array([0.5, -1], np.float32) if case["sinks"] else None
    shown = mask[:, :, :] if isinstance(mask, masks.Mask) else mask
    segments = None
    if case.get("segments"):
        segments = splash.SegmentIds(np.arange(32) // 20, np.arange(48) // 36)
        shown = shown & (segments.q[:, None] == segments.kv[None])
    make = splash.make_splash_mqa if k.ndim == 2 else splash.make_splash_mha
    options = {
        "block_sizes": blocks(16, 24),
        "head_shards": 1,
        "q_seq_shards": 1,
        "attn_logits_soft_cap": cap,
    }
    attention = make(mask, interpret=True, **options)
    expected, logarithms = softmax_attention(shown, q, k, v, sinks, cap)
    np.testing.assert_allclose(attention(q, k, v, segments, sinks), expected, atol=2e-6)
    saving = make(mask, interpret=True, save_residuals=True, **options)
    out, (sums,) = saving(q, k, v, segments, sinks)
    np.testing.assert_allclose(out, expected, atol=2e-6)
    np.testing.assert_allclose(sums, logarithms, atol=2e-6)

    reference = splash.make_attention_reference(mask, k.ndim == 2, attn_logits_soft_cap=cap)
    np.testing.assert_allclose(reference(q, k, v, segments, sinks), expected, atol=2e-6)
    args = (q, k, v) if sinks is None else (q, k, v, sinks)

    def loss(function):
        return lambda q, k, v, sinks=None: jnp.sum(jnp.sin(function(q, k, v, segments, sinks)))

    positions = tuple(range(len(args)))
    got = jit(grad(loss(attention), positions))(*args)
    wanted = grad(loss(reference), positions)(*args)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)


def test_masks_that_are_traced_and_examples():
    q, k, v = operands(2, 2, *SHAPE)
    mask = np.stack([masks.make_causal_mask(SHAPE)] * 2)

    @jit
    def attention(mask, q, k, v):
        make = splash.make_splash_mha_single_device
        return make(mask, block_sizes=blocks(16, 24), interpret=True)(q, k, v)

    expected, _ = softmax_attention(mask, q, k, v)
    np.testing.assert_allclose(attention(mask, q, k, v), expected, atol=2e-6)
    several = vmap(attention, in_axes=(None, 0, None, 0))(
        mask, np.stack([q, -q]), k, np.stack([v, v])
    )
    np.testing.assert_allclose(several[0], expected, atol=2e-6)
    np.testing.assert_allclose(several[1], softmax_attention(mask, -q, k, v)[0], atol=2e-6)


def test_splash_attention_lowers_for_tpus():
    mask = MultiHeadMask([CausalMask((256, 256)), LocalMask((256, 256), (100, 0), 0)])
    attention = splash.make_splash_mha_single_device(mask)
    x = ShapeDtypeStruct((2, 256, 128), jnp.bfloat16)
    gradient = grad(lambda q, k, v: jnp.sum(attention(q, k, v).astype(np.float32)), (0, 1, 2))
    kernels_are_known = [DisabledSafetyCheck.custom_call("tpu_custom_call")]
    exported = export(jit(gradient), platforms=["tpu"], disabled_checks=kernels_are_known)(x, x, x)
    assert exported.mlir_module().count("@tpu_custom_call") == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.ones((2, 16, 8), np.float32)}, "the mask is for 32 queries"),
        ({"k": np.ones((2, 48, 4), np.float32)}, "one size"),
        ({"v": np.ones((2, 24, 4), np.float32)}, "each key needs a value"),
        ({"k": np.ones((48, 8), np.float32)}, "rank"),
        ({"segment_ids": splash.SegmentIds(np.zeros(3), np.zeros(48))}, "segment_ids"),
        ({"sinks": np.zeros(3)}, "one score a head"),
    ],
)
def test_mismatched_operands_raise(change, message):
    mask = MultiHeadMask([CausalMask(SHAPE)] * 2)
    make = splash.make_splash_mha_single_device
    attention = make(mask, block_sizes=blocks(16, 24), interpret=True)
    arguments = dict(zip("qkv", operands(2, 2, *SHAPE), strict=True)) | change
    with pytest.raises(ValueError, match=message):
        attention(**arguments)


def test_invalid_kernels_raise():
    mask = MultiHeadMask([CausalMask(SHAPE)] * 2)
    make = splash.make_splash_mha
    with pytest.raises(ValueError, match="do not fall into blocks of 20"):
        make(mask, block_sizes=blocks(20, 24), head_shards=1, q_seq_shards=1)
    with pytest.raises(ValueError, match="over 3 devices"):
        make(mask, block_sizes=blocks(16, 24), head_shards=3, q_seq_shards=1)
    with pytest.raises(ValueError, match="does not divide block_kv=24"):
        splash.BlockSizes(16, 24, 16)
    with pytest.raises(ValueError, match="either all or none"):
        splash.BlockSizes(16, 24, block_q_dkv=16, block_kv_dkv=24)
    only_forward = make(
        mask, block_sizes=splash.BlockSizes(16, 24), head_shards=1, q_seq_shards=1, interpret=True
    )
    q, k, v = operands(2, 2, *SHAPE)
    with pytest.raises(ValueError, match="cannot be differentiated"):
        grad(lambda q: only_forward(q, k, v).sum())(q)


@pytest.mark.parametrize("has_segments", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_flash_attention_agrees_with_array_operations(has_bias, has_segments):
    rng = np.random.default_rng(1)
    q, k, v = (rng.normal(size=(2, 2, 32, 8)).astype(np.float32) for _ in range(3))
    bias = rng.normal(size=(2, 2, 32, 32)).astype(np.float32) if has_bias else None
    numbers = np.stack([np.arange(32) // 20, np.arange(32) // 10])
    segments = flash.SegmentIds(numbers, numbers) if has_segments else None
    sizes = flash.BlockSizes(16, 8, 8, 1, 16, 8, 8, 16, 16, 16, 8)
    arguments = (q, k, v) if bias is None else (q, k, v, bias)

    def by_blocks(q, k, v, ab=None):
        options = {"causal": True, "sm_scale": 0.3, "block_sizes": sizes}
        return flash.flash_attention(q, k, v, ab, segments, **options)

    def by_definition(q, k, v, ab=None):
        return flash.mha_reference(q, k, v, ab, segments, causal=True, sm_scale=0.3)

    shown = np.tri(32, dtype=bool)
    if has_segments:
        shown = shown & (numbers[:, None, :, None] == numbers[:, None, None, :])
    scores = 0.3 * np.einsum("bhqd,bhkd->bhqk", q, k) + (0 if bias is None else bias)
    weights = np.where(shown, np.exp(scores), 0)
    expected = np.einsum("bhqk,bhkd->bhqd", weights / weights.sum(-1, keepdims=True), v)
    with tpu.force_tpu_interpret_mode():
        np.testing.assert_allclose(by_blocks(*arguments), expected, atol=2e-6)
        positions = tuple(range(len(arguments)))
        got = grad(lambda *args: jnp.sum(jnp.sin(by_blocks(*args))), positions)(*arguments)
    wanted = grad(lambda *args: jnp.sum(jnp.sin(by_definition(*args))), positions)(*arguments)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)


def test_mismatched_flash_attention_operands_raise():
    x = np.ones((1, 1, 128, 8), np.float32)
    with pytest.raises(ValueError, match="equal numbers"):
        flash.flash_attention(x, x[..., :4], x[..., :4])
    with pytest.raises(ValueError, match="ab needs the shape"):
        flash.flash_attention(x, x, x, x)
    with pytest.raises(ValueError, match="do not fall into blocks of 128"):
        flash.flash_attention(x[:, :, :100], x, x)
    with pytest.raises(ValueError, match="does not divide block_k_major=16"):
        flash.BlockSizes(16, 16, 12, 1)

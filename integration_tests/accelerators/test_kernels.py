# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled by Triton on a GPU, compared with the same formulas for arrays."""

from __future__ import annotations

import importlib.util
import pathlib
from functools import partial

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
import olympus_pallas as pl
from olympus import lax
from olympus_kernels.gpu import (
    attention,
    decode_attention,
    layer_norm,
    paged_attention,
    rms_norm,
    softmax,
)
from olympus_pallas import tpu, triton

DATA = pathlib.Path(__file__).parents[2] / "packages/olympus-pallas/tests/data/samples.py"
_specification = importlib.util.spec_from_file_location("pallas_samples", DATA)
kernel_samples = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(kernel_samples)

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.fixture
def gpu(accelerator):
    if accelerator.platform != "gpu":
        pytest.skip("Triton compiles for GPUs")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("name", kernel_samples.CUDA)
def test_compiled_and_interpreted_samples_agree(name):
    def results(interpret):
        modules = pl, triton, tpu, lax, jnp, olympus.ShapeDtypeStruct
        call, arguments = kernel_samples.kernels(*modules, interpret=interpret)[name]
        with olympus.default_matmul_precision("highest"):
            return olympus.tree.map(np.asarray, olympus.jit(call)(*arguments))

    compiled, interpreted = results(False), results(True)
    olympus.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5), compiled, interpreted
    )


@pytest.mark.parametrize("shape", [(64, 128), (3, 5, 1000), (2, 4096)], ids=str)
def test_softmax_agrees_with_its_definition(rng, shape):
    x = (4 * rng.normal(size=shape)).astype(np.float32)
    expected = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    expected /= expected.sum(-1, keepdims=True)
    np.testing.assert_allclose(softmax.softmax(x), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("backward", ["triton", "xla"])
@pytest.mark.parametrize("module", [layer_norm, rms_norm], ids=["layer_norm", "rms_norm"])
def test_normalizations_agree_with_array_operations(rng, module, backward):
    name = module.__name__.rpartition(".")[2]
    kernel, by_arrays = getattr(module, name), getattr(module, f"{name}_reference")
    arguments = [rng.normal(size=shape).astype(np.float32) for shape in ((33, 700), (700,), (700,))]

    def loss(function, **options):
        return lambda *args: jnp.sum(jnp.sin(function(*args, **options)))

    computed, expected = (
        olympus.value_and_grad(each, argnums=(0, 1, 2))(*arguments)
        for each in (loss(kernel, backward_pass_impl=backward), loss(by_arrays))
    )
    olympus.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-4), computed, expected
    )


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "full"])
@pytest.mark.parametrize("backward", ["triton", "xla"])
def test_attention_and_its_gradients(rng, dtype, causal, backward):
    arguments = [jnp.asarray(rng.normal(size=(2, 256, 4, 64)), dtype) for _ in "qkv"]
    scale = 1 / 8

    def kernel(q, k, v):
        return attention.mha(q, k, v, None, scale, causal, backward_pass_impl=backward)

    def by_arrays(q, k, v):
        with olympus.default_matmul_precision("highest"):
            return attention.mha_reference(q, k, v, None, scale, causal)

    def result_and_gradients(attend, *args):
        result, pull = olympus.vjp(attend, *args)
        return result, *pull(jnp.cos(result.astype(np.float32)).astype(result.dtype))

    computed = olympus.jit(partial(result_and_gradients, kernel))(*arguments)
    wide = [each.astype(np.float32) for each in arguments]
    expected = olympus.jit(partial(result_and_gradients, by_arrays))(*wide)
    bound = 5e-3 if dtype == np.float32 else 5e-2  # products of TF32 and bfloat16
    for x, y in zip(computed, expected, strict=True):
        np.testing.assert_allclose(np.asarray(x, np.float32), y, rtol=bound, atol=bound)


@pytest.mark.parametrize("queries,keys", [(100, 300), (257, 65), (64, 64)])
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "full"])
def test_attention_of_uneven_lengths(rng, queries, keys, causal):
    q = rng.normal(size=(2, queries, 3, 24)).astype(np.float32)
    k, v = (rng.normal(size=(2, keys, 3, 24)).astype(np.float32) for _ in "kv")
    computed = attention.mha(q, k, v, None, 0.2, causal)
    with olympus.default_matmul_precision("highest"):
        expected = attention.mha_reference(q, k, v, None, 0.2, causal)
    np.testing.assert_allclose(computed, expected, rtol=5e-3, atol=5e-3)


def test_decode_attention_agrees_with_array_operations(rng):
    q = rng.normal(size=(2, 16, 64)).astype(np.float32)
    k, v = (rng.normal(size=(2, 512, 4, 64)).astype(np.float32) for _ in "kv")
    lengths = np.array([512, 100], np.int32)
    computed = decode_attention.gqa(q, k, v, kv_seq_len=lengths)
    with olympus.default_matmul_precision("highest"):
        expected = decode_attention.gqa_reference(q, k, v, kv_seq_len=lengths)
    np.testing.assert_allclose(computed, expected, rtol=5e-3, atol=5e-3)


def test_paged_attention_agrees_with_array_operations(rng):
    pages, of_page, sequences = 16, 64, 2
    q = rng.normal(size=(sequences, 8, 64)).astype(np.float32)
    k_pages, v_pages = (rng.normal(size=(2, pages, of_page, 64)).astype(np.float32) for _ in "kv")
    tables = rng.permutation(pages)[: 4 * sequences].reshape(sequences, 4).astype(np.int32)
    lengths = np.array([200, 256], np.int32)
    computed = paged_attention.paged_attention(q, k_pages, v_pages, tables, lengths)
    k, v = (
        np.moveaxis(each[:, tables].reshape(2, sequences, -1, 64), 0, 2)
        for each in (k_pages, v_pages)
    )
    with olympus.default_matmul_precision("highest"):
        expected = paged_attention.paged_attention_reference(q, k, v, lengths)
    np.testing.assert_allclose(computed, expected, rtol=5e-3, atol=5e-3)

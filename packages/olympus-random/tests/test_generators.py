# SPDX-License-Identifier: Apache-2.0
"""Comparison of the ciphers with vectors that Random123 publishes, and keys of the ciphers."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_random as random
from olympus_batching import vmap
from olympus_ir.settings import config
from olympus_random.generators import random123

ONES = 0xFFFFFFFF
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0, 0x082EFA98)
PI = (*PI, 0xEC4E6C89)


@pytest.mark.parametrize(
    ("cipher", "counter", "key", "expected"),
    [
        ("philox2x32", (0, 0), (0,), (0xFF1DAE59, 0x6CD10DF2)),
        ("philox2x32", (ONES, ONES), (ONES,), (0x2C3F628B, 0xAB4FD7AD)),
        ("philox2x32", PI[:2], PI[2:3], (0xDD7CE038, 0xF62A4C12)),
        ("philox4x32", (0,) * 4, (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ("philox4x32", (ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        ("philox4x32", PI[:4], PI[4:6], (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
        ("threefry4x32", (0,) * 4, (0,) * 4, (0x9C6CA96A, 0xE17EAE66, 0xFC10ECD4, 0x5256A7D8)),
        (
            "threefry4x32",
            (ONES,) * 4,
            (ONES,) * 4,
            (0x2A881696, 0x57012287, 0xF6C7446E, 0xA16A6732),
        ),
        ("threefry4x32", PI[:4], PI[4:], (0x59CD1DBB, 0xB8879579, 0x86B5D00C, 0xAC8B6D84)),
    ],
)
def test_ciphers_give_the_published_vectors(cipher, counter, key, expected):
    words = getattr(random123, cipher)(
        [np.uint32(word) for word in key], [np.uint32(word) for word in counter]
    )
    assert tuple(int(word) for word in words) == expected


@pytest.mark.parametrize(
    ("name", "tag", "size"),
    [("philox2x32", "phx2", 1), ("philox4x32", "phx4", 2), ("threefry4x32", "fry4", 4)],
)
def test_keys_of_each_generator(name, tag, size):
    key = random.key(42, impl=name)
    assert str(key.dtype) == f"key<{tag}>"
    assert random.key_impl(key) == name
    assert random.key_data(key).shape == (size,)
    children = random.split(key, (2, 3))
    assert children.shape == (2, 3)
    words = np.asarray(random.key_data(children)).reshape(6, size)
    assert (
        len(np.unique(np.concatenate([np.asarray(random.key_data(key))[None], words]), axis=0)) == 7
    )
    # Folding in the number n gives the n-th key of `split`.
    np.testing.assert_array_equal(random.key_data(random.fold_in(key, 4)), words[4])
    draws = vmap(lambda each: random.normal(each, (200,)))(children[0])
    one_by_one = [random.normal(child, (200,)) for child in children[0]]
    np.testing.assert_allclose(draws, np.stack(one_by_one), rtol=1e-5)
    assert abs(np.asarray(draws).mean()) < 0.15
    assert abs(np.asarray(draws).std() - 1) < 0.1


@pytest.mark.parametrize("name", ["philox2x32", "philox4x32", "threefry4x32"])
def test_bits_of_each_width(name):
    key = random.key(3, impl=name)
    words = np.asarray(random.bits(key, (50,)))
    for width in (8, 16):
        narrow = random.bits(key, (50,), f"uint{width}")
        np.testing.assert_array_equal(narrow, words.astype(f"uint{width}"))
    with config.enable_x64(True):
        wide = np.asarray(random.bits(key, (50,), "uint64"))
    assert wide.dtype == np.uint64
    assert len(np.unique(wide >> 32)) == len(np.unique(wide & 0xFFFFFFFF)) == 50


def test_the_configured_generator():
    with config.default_prng_impl("philox4x32"):
        assert random.PRNGKey(0).shape == (2,)
        assert random.key_impl(random.key(0)) == "philox4x32"

# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import olympus_random as random
from olympus_batching import vmap
from olympus_ir import Array, ShapedArray, get_aval, lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.settings import config, config_flags
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes


def data(keys):
    return np.asarray(random.key_data(keys))


# ---- types of keys ----


def test_typed_keys_print_generator_and_data():
    key = random.key(43)
    assert repr(key) == str(key) == "Array((), dtype=key<fry>) overlaying:\n[ 0 43]"
    assert isinstance(key, Array)
    assert (key.shape, key.ndim, key.size, key.itemsize, key.nbytes) == ((), 0, 1, 8, 8)
    assert key.dtype == random.key_dtype()
    assert repr(key.dtype) == key.dtype.name == "key<fry>"
    assert dtypes.issubdtype(key.dtype, dtypes.prng_key)
    assert dtypes.issubdtype(key.dtype, dtypes.extended)
    assert not dtypes.issubdtype(key.dtype, np.number)
    assert key.aval is get_aval(key) is ShapedArray((), random.key_dtype())


def test_raw_keys_are_arrays_of_words():
    key = random.PRNGKey(43)
    assert key.dtype == np.uint32
    np.testing.assert_array_equal(key, [0, 43])
    with config.enable_custom_prng(True):
        assert random.PRNGKey(43).dtype == random.key_dtype()


def test_key_arrays_do_not_convert_to_numbers():
    key = random.key(0)
    for convert in (np.asarray, int, float, complex, bool, list, len, hash):
        with pytest.raises(TypeError):
            convert(key)
    with pytest.raises(TypeError, match=r"random\.key_data\(key\)"):
        np.asarray(key)
    with pytest.raises(TypeError, match="add does not accept dtype"):
        lax.add(key, key)
    with pytest.raises(TypeError, match="immutable"):
        random.split(key)[0] = key


def test_key_arrays_unpack_and_wrap():
    keys = random.split(random.key(1), 4)
    first, *others = keys
    assert len(keys) == 4
    assert len(others) == 3
    np.testing.assert_array_equal(data(first), data(keys)[0])
    again = random.wrap_key_data(data(keys))
    np.testing.assert_array_equal(data(again), data(keys))
    assert random.key_impl(keys) == "threefry2x32"
    np.testing.assert_array_equal(data(random.clone(keys)), data(keys))
    np.testing.assert_array_equal(random.key_data(random.PRNGKey(3)), [0, 3])


def test_keys_are_copied_and_pickled():
    keys = random.split(random.key(1))
    for twin in (pickle.loads(pickle.dumps(keys)), copy.copy(keys), copy.deepcopy(keys)):
        assert twin.dtype == keys.dtype
        np.testing.assert_array_equal(data(twin), data(keys))


def test_operations_on_arrays_of_keys():
    keys = random.split(random.key(1), 6)
    words = data(keys)
    for operation in (
        lambda x: lax.reshape(x, (2, 3, *x.shape[1:])),
        lambda x: lax.concatenate([x, x], 0),
        lambda x: lax.index_in_dim(x, 2, 0, keepdims=False),
        lambda x: lax.broadcast_in_dim(x, (4, *x.shape), tuple(range(1, 1 + x.ndim))),
        lambda x: lax.rev(x, (0,)),
        lambda x: lax.dynamic_slice_in_dim(x, np.int32(2), 3),
    ):
        np.testing.assert_array_equal(data(operation(keys)), operation(words))
    chosen = lax.select(np.arange(6) < 2, keys, lax.rev(keys, (0,)))
    np.testing.assert_array_equal(data(chosen), [*words[:2], *words[::-1][2:]])
    np.testing.assert_array_equal(lax.eq(keys, lax.rev(keys, (0,))), np.zeros(6, bool))


# ---- tracing ----


def test_programs_on_keys():
    def text(fun, *args):
        return str(make_olympuspr(fun)(*args))

    key = random.key(0)
    assert text(random.key, 3) == (
        "{ lambda ; a:i32[]. let b:key<fry>[] = random_seed[impl=fry] a in (b,) }"
    )
    assert text(lambda: random.key(3)) == (
        "{ lambda ; . let a:key<fry>[] = random_seed[impl=fry] 3:i32[] in (a,) }"
    )
    assert text(random.split, key) == (
        "{ lambda ; a:key<fry>[]. let\n    b:key<fry>[2] = random_split[shape=(2,)] a\n  in (b,) }"
    )
    assert text(lambda key: random.fold_in(key, 3), key) == (
        "{ lambda ; a:key<fry>[]. let b:key<fry>[] = random_fold_in a 3:u32[] in (b,) }"
    )
    assert text(lambda key: random.split(key, 3), random.PRNGKey(0)) == (
        "{ lambda ; a:u32[2]. let\n"
        "    b:key<fry>[] = random_wrap[impl=fry] a\n"
        "    c:key<fry>[3] = random_split[shape=(3,)] b\n"
        "    d:u32[3,2] = random_unwrap c\n"
        "  in (d,) }"
    )


def test_compiled_functions_take_and_give_keys():
    key = random.key(7)
    np.testing.assert_array_equal(data(jit(random.split)(key)), data(random.split(key)))
    np.testing.assert_array_equal(data(jit(random.key)(7)), data(key))
    np.testing.assert_array_equal(jit(random.PRNGKey)(7), data(key))
    np.testing.assert_array_equal(jit(lambda: random.normal(key))(), random.normal(key))
    np.testing.assert_array_equal(jit(random.bits)(random.PRNGKey(7)), random.bits(key))
    leaves, tree = pytrees.tree_flatten({"key": key})
    assert leaves[0] is key
    assert pytrees.tree_unflatten(tree, leaves)["key"] is key


def test_control_flow_on_keys():
    key = random.key(7)

    def step(key, _):
        key, use = random.split(key)
        return key, random.bits(use)

    last, drawn = lax.scan(step, key, None, length=3)
    expected = []
    for _ in range(3):
        key, word = step(key, None)
        expected.append(int(word))
    np.testing.assert_array_equal(drawn, expected)
    np.testing.assert_array_equal(data(last), data(key))
    chosen = lax.cond(np.bool_(True), lambda: key, lambda: random.key(1))
    np.testing.assert_array_equal(data(chosen), data(key))


# ---- batching ----


def test_batched_keys_equal_single_keys():
    keys = random.split(random.key(2), 5)
    rows = list(keys)

    def same(batched, one_by_one):
        for result, expected in zip(batched, one_by_one, strict=True):
            result, expected = (
                data(x) if dtypes.is_extended(x.dtype) else np.asarray(x)
                for x in (result, expected)
            )
            np.testing.assert_array_equal(result, expected)

    for fun in (
        random.split,
        lambda key: random.fold_in(key, 3),
        lambda key: random.bits(key, (3,)),
        lambda key: random.randint(key, (2,), 0, 10),
        lambda key: random.permutation(key, 7),
        random.clone,
        random.key_data,
    ):
        same(vmap(fun)(keys), [fun(key) for key in rows])
    numbers = np.arange(5, dtype=np.uint32)
    same(vmap(random.fold_in)(keys, numbers), map(random.fold_in, rows, numbers))
    same(
        vmap(random.fold_in, in_axes=(None, 0))(rows[0], numbers),
        [random.fold_in(rows[0], number) for number in numbers],
    )
    same(vmap(random.key)(numbers), map(random.key, numbers.tolist()))
    same(vmap(random.wrap_key_data)(data(keys)), rows)
    same(vmap(random.bits)(data(keys)), map(random.bits, rows))


def test_arrays_of_keys_of_higher_rank():
    keys = random.split(random.key(2), (2, 3))
    assert keys.shape == (2, 3)
    assert vmap(vmap(random.split))(keys).shape == (2, 3, 2)
    assert vmap(vmap(random.bits), in_axes=1)(keys).shape == (3, 2)


# ---- seeds ----


def test_seeds_of_every_type_fill_the_key():
    np.testing.assert_array_equal(data(random.key(-1)), [0, 2**32 - 1])
    np.testing.assert_array_equal(data(random.key(True)), [0, 1])
    np.testing.assert_array_equal(data(random.key(np.uint8(200))), [0, 200])
    np.testing.assert_array_equal(data(random.key(2**32 + 5)), [0, 5])
    with config.enable_x64(True):
        np.testing.assert_array_equal(data(random.key(2**32 + 5)), [1, 5])
        np.testing.assert_array_equal(data(jit(random.key)(2**32 + 5)), [1, 5])
        np.testing.assert_array_equal(data(random.key(-1)), [2**32 - 1] * 2)


def test_the_seed_offset_is_added():
    flag = config_flags.random_seed_offset
    before = flag.value
    config.config.update("olympus_random_seed_offset", 5)
    try:
        np.testing.assert_array_equal(data(random.key(3)), [0, 8])
        np.testing.assert_array_equal(data(jit(random.key)(3)), [0, 8])
    finally:
        config.config.update("olympus_random_seed_offset", before)


# ---- errors ----


@pytest.mark.parametrize(
    ("seed", "error", "text"),
    [
        (1.5, TypeError, "PRNG key seed must be an integer; got"),
        (np.float32(1), TypeError, "PRNG key seed must be an integer"),
        ("a", TypeError, "not a valid OLYMPUS type"),
        (
            np.arange(3),
            TypeError,
            r"key accepts a scalar seed, but was given an array of shape \(3,\)",
        ),
        ((1, 2), TypeError, "accepts a scalar seed"),
        (2**63, OverflowError, "too large"),
    ],
)
def test_invalid_seeds_raise(seed, error, text):
    with pytest.raises(error, match=text):
        random.key(seed)


def test_unknown_generators_raise():
    with pytest.raises(
        ValueError,
        match=r'unrecognized PRNG implementation "foo". Did you mean one of: "threefry2x32"',
    ):
        random.key(0, impl="foo")
    with pytest.raises(TypeError, match="by its name"):
        random.key(0, impl=3)
    with pytest.raises(TypeError, match="not by both"):
        random.key(0, impl="threefry2x32", dtype=random.key_dtype())
    with pytest.raises(TypeError, match="dtype must be one of keys"):
        random.key(0, dtype=np.float32)
    assert random.key(0, dtype=random.key_dtype("threefry2x32")).dtype == random.key_dtype()


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        (0, TypeError, r"expected key_data to have ndim, shape, and dtype attributes. Got 0. Make"),
        (np.ones(2, np.float32), TypeError, "expected key_data.dtype = uint32; got dtype=float32"),
        (
            np.ones(3, np.uint32),
            TypeError,
            r"expected key_data.shape to end with \(2,\); got shape=\(3,\)",
        ),
        (np.ones((3, 2), np.uint32), ValueError, r"given a key array of shape \(3, 2\) != \(\)"),
    ],
)
def test_invalid_keys_raise(key, error, text):
    for fun in (random.normal, random.split, random.bits, lambda key: random.fold_in(key, 1)):
        with pytest.raises(error, match=text):
            fun(key)


def test_key_arrays_in_samplers_raise():
    keys = random.split(random.key(0))
    for name in ("normal", "uniform", "bits", "split", "permutation", "choice", "bernoulli"):
        args = [5] if name in ("permutation", "choice") else []
        with pytest.raises(ValueError, match=rf"{name} accepts a single key.*Use olympus.vmap"):
            getattr(random, name)(keys, *args)


def test_numbers_to_fold_in():
    key = random.key(0)
    with pytest.raises(OverflowError):
        random.fold_in(key, -1)
    with pytest.raises(TypeError, match=r"fold_in accepts a scalar.*shape \(3,\)"):
        random.fold_in(key, np.arange(3, dtype=np.uint32))


def test_raw_keys_can_be_forbidden():
    raw = random.PRNGKey(0)
    with (
        config.legacy_prng_key("error"),
        pytest.raises(ValueError, match="Legacy uint32 key array"),
    ):
        random.normal(raw)
    with config.legacy_prng_key("warn"), pytest.warns(UserWarning, match="Legacy uint32 key array"):
        random.normal(raw)


def test_pickled_sampler_primitives():
    program = "import pickle, sys, olympus_random; print(pickle.loads(bytes.fromhex(sys.argv[1])))"
    data = pickle.dumps(random.random_gamma_p).hex()
    command = [sys.executable, "-c", program, data]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "random_gamma"


def test_numbers_of_keys_must_be_integers() -> None:
    with pytest.raises(TypeError, match=r"split: num must be an integer, got 2\.5"):
        random.split(random.key(0), 2.5)  # type: ignore[arg-type]

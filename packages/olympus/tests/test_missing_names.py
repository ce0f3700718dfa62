# SPDX-License-Identifier: Apache-2.0
"""Names, members and keyword arguments that do not exist are reported with a suggestion."""

import traceback

import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax, nn, random


@pytest.mark.parametrize(
    ("module", "name", "meant"),
    [
        (olympus, "vamp", "'vmap'"),
        (lax, "fori_lop", "'fori_loop'"),
        (jnp, "concatenat", "'concatenate'"),
        (jnp.linalg, "slove", "'solve'"),
        (nn, "rleu", "'relu'"),
        (jnp, "cat", "`concatenate`"),
        (jnp, "random", "olympus.random"),
        (random, "rand", "`uniform"),
        (olympus, "device_put_replicated", "`olympus.device_put` with a `NamedSharding`"),
        (olympus, "xla_computation", "`olympus.jit(f).lower"),
        (olympus.ops, "index_update", "`x.at[index].set(values)`"),
        (jnp, "inv", "`linalg.inv`"),
        (nn, "dropout", "bernoulli"),
        (random, "KeyArray", "`olympus.Array`"),
        (olympus.sharding, "PositionalSharding", "`NamedSharding("),
        (olympus.experimental, "maps", "`olympus.shard_map`"),
        (olympus.tree_util, "tree_multimap", "`tree_map`"),
    ],
)
def test_module_attribute_errors_suggest_a_name(module, name, meant):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'") as caught:
        getattr(module, name)
    assert meant in str(caught.value)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("backward", "olympus.grad"),
        ("detach", "stop_gradient"),
        ("to", "astype"),
        ("suum", "'sum'"),
    ],
)
def test_array_attribute_errors_suggest_a_name(name, meant):
    for array in (jnp.ones(3), olympus.jit(lambda x: x)(jnp.ones(3))):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'") as caught:
            getattr(array, name)
        assert meant in str(caught.value)


def test_traced_arrays_have_no_sharding_or_device():
    messages = {}

    def look(x):
        for name in ("sharding", "device"):
            with pytest.raises(
                AttributeError, match=f"The '{name}' attribute is not avail"
            ) as caught:
                getattr(x, name)
            messages[name] = str(caught.value)
        return x

    olympus.jit(look)(1.0)
    olympus.jvp(look, (1.0,), (1.0,))
    assert (
        "To query sharding information on tracers, use `olympus.typeof(x)" in messages["sharding"]
    )
    assert "Did you mean" not in messages["device"]


def test_unknown_keyword_arguments_suggest_a_name():
    with pytest.raises(TypeError, match="Did you mean: 'axis'"):
        jnp.sum(jnp.ones(3), dim=0)
    with pytest.raises(TypeError, match="Did you mean: 'argnums'"):
        olympus.grad(jnp.sum, argnum=0)


def _grows(carry):
    return 2.0 * carry


def test_errors_of_backward_pass_name_line():
    def looped(x):
        return lax.while_loop(lambda carry: carry < 10.0, _grows, x)

    with pytest.raises(ValueError, match="was traced at .*test_missing_names.py") as caught:
        olympus.jit(olympus.grad(looped))(1.0)
    assert "return lax.while_loop(lambda carry: carry < 10.0, _grows, x)" in str(caught.value)


def test_errors_of_unknown_flags_show_no_library_frames():
    with pytest.raises(AttributeError, match="olympus_enable_x64") as caught:
        _ = olympus.config.enable_x64
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__}


def test_errors_of_indices_of_specs_show_no_library_frames():
    with pytest.raises(TypeError) as caught:
        olympus.P("x")["x"]
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__}

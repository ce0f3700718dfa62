# SPDX-License-Identifier: Apache-2.0
"""Layouts of arrays in memory, which do not change their values."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import P, lax
from olympus.experimental.layout import Format, Layout, with_layout_constraint
from olympus.sharding import AxisType, NamedSharding, SingleDeviceSharding

pytestmark = pytest.mark.usefixtures("eight_devices")

X = np.arange(24, dtype=np.float32).reshape(4, 6)
COLUMNS = Layout((1, 0))


def order(array):
    return array.format.layout.major_to_minor


@pytest.fixture
def device():
    return SingleDeviceSharding(olympus.devices()[0])


@pytest.fixture
def split():
    mesh = olympus.make_mesh((2, 2), ("x", "y"), (AxisType.Auto,) * 2)
    return NamedSharding(mesh, P("x", "y"))


@pytest.mark.parametrize("place", ["device", "split"])
def test_values_do_not_depend_on_layouts(place, request):
    sharding = request.getfixturevalue(place)
    double = olympus.jit(lambda x: x * 2)
    rows = olympus.device_put(X, sharding)
    for _ in range(2):
        np.testing.assert_array_equal(double(rows), 2 * X)
    columns = olympus.device_put(X, Format(COLUMNS, sharding))
    assert order(columns) == (1, 0)
    np.testing.assert_array_equal(columns, X)
    for _ in range(3):  # the first call compiles, later ones are looked up
        np.testing.assert_array_equal(double(columns), 2 * X)
        np.testing.assert_array_equal(jnp.sin(columns), jnp.sin(rows))
        np.testing.assert_array_equal(double(rows), 2 * X)
    assert order(double(columns)) == (0, 1)
    np.testing.assert_array_equal(columns[1:3].T @ columns[1:3], X[1:3].T @ X[1:3])
    np.testing.assert_array_equal(olympus.grad(lambda x: jnp.sum(x * x))(columns), 2 * X)
    back = olympus.device_put(columns, Format(Layout((0, 1)), sharding))
    assert order(back) == (0, 1)
    np.testing.assert_array_equal(back, X)


def test_results_have_the_requested_layout(device):
    asked = olympus.jit(lambda x: x + 1, out_shardings=Format(COLUMNS, device))
    for _ in range(2):
        assert order(asked(X)) == (1, 0)
        np.testing.assert_array_equal(asked(X), X + 1)
    constrained = olympus.jit(lambda x: with_layout_constraint(x + 1, COLUMNS))
    for _ in range(2):
        assert order(constrained(X)) == (1, 0)
        np.testing.assert_array_equal(constrained(X), X + 1)
        np.testing.assert_array_equal(jnp.negative(constrained(X)), -X - 1)


def test_constraints_take_formats(split):
    place = Format(COLUMNS, split)
    inside = olympus.jit(lambda x: lax.with_sharding_constraint(x + 1, place))(X)
    outside = lax.with_sharding_constraint(jnp.asarray(X), place)
    np.testing.assert_array_equal(inside, X + 1)
    np.testing.assert_array_equal(outside, X)
    assert inside.sharding.is_equivalent_to(split, 2)
    assert order(outside) == (1, 0)
    with pytest.raises(ValueError, match="incompatible with its layout annotation"):
        lax.with_sharding_constraint(X, Format(Layout((2, 1, 0)), split))


def test_automatic_layouts_are_chosen_by_the_compiler(split):
    function = olympus.jit(
        lambda x: x.T, in_shardings=Format(Layout.AUTO), out_shardings=Format(Layout.AUTO)
    )
    compiled = function.lower(
        olympus.ShapeDtypeStruct((4, 6), np.float32, sharding=split)
    ).compile()
    ((wanted,), _), given = compiled.input_formats, compiled.output_formats
    assert wanted.layout.major_to_minor == given.layout.major_to_minor[::-1]
    result = compiled(olympus.device_put(X, wanted))
    assert result.format == given
    np.testing.assert_array_equal(result, X.T)
    with pytest.raises(ValueError, match="Layout passed to jit does not match"):
        function(olympus.device_put(X, split))


def test_committed_arguments_must_have_the_requested_layout(device):
    function = olympus.jit(lambda x: x * 2, in_shardings=Format(COLUMNS, device))
    np.testing.assert_array_equal(function(X), 2 * X)
    np.testing.assert_array_equal(function(olympus.device_put(X, Format(COLUMNS, device))), 2 * X)
    with pytest.raises(ValueError, match="Layout passed to jit does not match"):
        function(olympus.device_put(X, device))
    compiled = function.lower(X).compile()
    with pytest.raises(ValueError, match="compiled for input layouts that disagree"):
        compiled(olympus.device_put(X, device))
    compiled = olympus.jit(lambda x: x * 2).lower(X).compile()
    with pytest.raises(ValueError, match="compiled for input layouts that disagree"):
        compiled(olympus.device_put(X, Format(COLUMNS, device)))


def test_structs_with_layouts(device):
    place = Format(COLUMNS, device)
    struct = olympus.ShapeDtypeStruct((4, 6), np.float32, sharding=place)
    assert (struct.sharding, struct.format) == (device, place)
    assert "format=Layout(major_to_minor=(1, 0)" in repr(struct)
    compiled = olympus.jit(lambda x: x * 2).lower(struct).compile()
    assert compiled.input_formats[0][0].layout.major_to_minor == (1, 0)
    np.testing.assert_array_equal(compiled(olympus.device_put(X, place)), 2 * X)
    with pytest.raises(TypeError, match="cannot be used in place of a device-local layout"):
        struct.update(sharding=Format(Layout.AUTO, device))
    with pytest.raises(ValueError, match="sharding should be an instance of"):
        struct.update(sharding=COLUMNS)


def test_layout_without_sharding_raises(device):
    with pytest.raises(ValueError, match="does not accept device-local layouts directly"):
        olympus.jit(lambda x: x, out_shardings=COLUMNS)(X)
    with pytest.raises(ValueError, match="incompatible with its layout annotation"):
        olympus.jit(lambda x: x, out_shardings=Format(Layout((0,)), device))(X)
    with pytest.raises(ValueError, match="rank of the value should match"):
        olympus.device_put(X, Format(Layout((0,)), device))


def test_programs_with_ordered_effects(device):
    columns = olympus.device_put(X, Format(COLUMNS, device))
    seen = []

    @olympus.jit
    def program(x):
        olympus.debug.callback(lambda value: seen.append(np.array(value)), x, ordered=True)
        return x + 1

    for x in (X, columns, X):
        np.testing.assert_array_equal(program(x), X + 1)
    olympus.effects_barrier()
    np.testing.assert_array_equal(seen, [X] * 3)


def test_tokens_pass_beside_arrays_with_layouts(device):
    olympus.device_put(X, Format(COLUMNS, device))  # from now on layouts are looked at

    @olympus.jit
    def program(token, x):
        return lax.after_all(token), x * 2

    token, doubled = program(lax.create_token(), X)
    np.testing.assert_array_equal(doubled, X * 2)
    np.testing.assert_array_equal(program(token, X)[1], X * 2)

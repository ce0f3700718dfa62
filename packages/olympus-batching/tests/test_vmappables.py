# SPDX-License-Identifier: Apache-2.0
"""`vmap` over containers of libraries: arrays whose axes have names."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_batching.vmappables import register_vmappable, spec_types, unregister_vmappable
from olympus_ir import lax
from olympus_ir.trees import pytrees


class Named:
    """An array whose axes have names."""

    def __init__(self, data, *names):
        self.data, self.names = data, names


pytrees.register_pytree_node(
    Named, lambda x: ((x.data,), x.names), lambda names, children: Named(children[0], *names)
)


class Along:
    """Specification that the axis of this name is the batch dimension."""

    def __init__(self, name):
        self.name = name


class Count:
    """A number of examples."""

    def __init__(self, value):
        self.value = value


def to_element(element_of, get_index, container, spec):
    position = container.names.index(spec.name)
    rest = [name for name in container.names if name != spec.name]
    return Named(element_of(container.data, position), *rest)


def from_element(batch_of, axis_size, element, spec):
    return Named(batch_of(axis_size, element.data, 0), spec.name, *element.names)


@pytest.fixture(autouse=True)
def registered():
    def numbers(count):
        return lax.iota("int32", count.value)

    register_vmappable(Named, Along, Count, to_element, from_element, numbers)
    yield
    unregister_vmappable(Named)
    assert not spec_types


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def sine(x):
    return Named(lax.sin(x.data), *x.names)


def test_the_mapped_axis_is_renamed():
    y = vmap(sine, in_axes=Along("j"), out_axes=Along("k"), axis_size=3)(Named(X, "i", "j"))
    assert y.names == ("k", "i")
    np.testing.assert_allclose(y.data, np.sin(X).T, rtol=1e-6)


def test_mixed_with_integer_axes():
    def f(x, y):
        return Named(lax.add(x.data, lax.broadcast(y, x.data.shape)), *x.names), y

    y = np.array([10, 20, 30], np.float32)
    total, same = vmap(f, in_axes=(Along("j"), 0), out_axes=(Along("j"), 0))(Named(X, "i", "j"), y)
    np.testing.assert_array_equal(total.data, X.T + y[:, None])
    np.testing.assert_array_equal(same, y)


def test_nested_maps_return_all_names():
    inner = vmap(sine, in_axes=Along("i"), out_axes=Along("i"), axis_size=Count(2))
    y = vmap(inner, in_axes=Along("j"), out_axes=Along("j"), axis_size=Count(3))(Named(X, "i", "j"))
    assert y.names == ("j", "i")
    np.testing.assert_allclose(y.data, np.sin(X).T, rtol=1e-6)


def test_unbatched_results_get_the_axis():
    constant = vmap(
        lambda x: Named(np.ones(2, np.float32), "q"),
        in_axes=Along("j"),
        out_axes=Along("j"),
        axis_size=Count(3),
    )
    np.testing.assert_array_equal(constant(Named(X, "i", "j")).data, np.ones((3, 2)))
    total = vmap(
        lambda x: lax.psum(x.data, "examples"),
        in_axes=Along("j"),
        out_axes=None,
        axis_name="examples",
        axis_size=3,
    )
    np.testing.assert_array_equal(total(Named(X, "i", "j")), X.sum(1))
    with pytest.raises(ValueError, match="output was batched on axis 1"):
        shared = vmap(lambda x: x.data, in_axes=Along("j"), out_axes=None, axis_size=3)
        shared(Named(X, "i", "j"))


def test_get_index_is_index_of_example():
    def with_index(element_of, get_index, container, spec):
        element = to_element(element_of, get_index, container, spec)
        return Named(lax.add(element.data, lax.convert_element_type(get_index(), "float32")))

    register_vmappable(Named, Along, Count, with_index, from_element, None)
    index = vmap(lambda x: x.data, in_axes=Along("j"), out_axes=0, axis_size=3)
    y = index(Named(np.zeros(3, np.float32), "j"))
    np.testing.assert_array_equal(y, [0, 1, 2])
    assert spec_types == {Along: 1}


def test_errors_of_wrong_axes():
    with pytest.raises(ValueError, match="axis_size must be specified"):
        vmap(sine, in_axes=Along("j"))(Named(X, "i", "j"))
    with pytest.raises(ValueError, match="does not hold 4 examples"):
        vmap(sine, in_axes=Along("j"), axis_size=4)(Named(X, "i", "j"))
    with pytest.raises(TypeError, match="cannot map values"):
        vmap(sine, in_axes=Along("j"), axis_size=3)(X)
    with pytest.raises(TypeError, match="cannot return values"):
        vmap(lambda x: x, out_axes=Along("j"))(X)
    unregister_vmappable(Named)
    with pytest.raises(TypeError, match="in_axes must be an int, None, or a tuple"):
        vmap(sine, in_axes=Along("j"))(Named(X, "i", "j"))


class Numbered:
    """A container that integers map over."""

    def __init__(self, data):
        self.data = data


pytrees.register_pytree_node(
    Numbered, lambda x: ((x.data,), None), lambda _, children: Numbered(children[0])
)


def test_integer_specs_of_registered_types_keep_array_axes():
    def to_element(element_of, get_index, container, spec):
        return Numbered(element_of(container.data, spec))

    def from_element(batch_of, axis_size, element, spec):
        return Numbered(batch_of(axis_size, element.data, spec))

    register_vmappable(Numbered, int, int, to_element, from_element, None)
    try:
        np.testing.assert_array_equal(vmap(lax.neg)(X), -X)
        np.testing.assert_array_equal(vmap(lax.neg, in_axes=1, out_axes=1)(X), -X)

        def both(container, x):
            return Numbered(lax.mul(container.data, x)), lax.neg(x)

        doubled, negative = vmap(both)(Numbered(X), np.array([2, 3], np.float32))
        np.testing.assert_array_equal(doubled.data, X * np.array([[2], [3]]))
        np.testing.assert_array_equal(negative, [-2, -3])
    finally:
        unregister_vmappable(Numbered)

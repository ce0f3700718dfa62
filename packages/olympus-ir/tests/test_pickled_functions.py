# SPDX-License-Identifier: Apache-2.0
"""Pickling of functions by name and by recipe, and their function attributes."""

import copy
import functools
import inspect
import pickle
import weakref

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.programs.calls.identity import digest
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.trees.pickled_functions import NamedFunction, name_in_module, travels


@travels
def scaled(fun, *, factor=2):
    """Scales a function."""

    @functools.wraps(fun)
    def scaled_f(*args, **kwargs):
        return factor * fun(*args, **kwargs)

    return scaled_f


@travels
def not_a_function(fun):
    return [fun]


def plus_one(x, y=1):
    """Adds."""
    return x + y


@scaled
def decorated(x):
    return x


class Callable(NamedFunction):
    def __init__(self, fun):
        functools.update_wrapper(self, fun)
        self.fun = fun

    def __call__(self, x):
        return self.fun(x)


@Callable
def wrapped(x):
    return -x


def test_functions_are_pickled_as_recipes():
    function = scaled(scaled(plus_one), factor=5)
    loaded = pickle.loads(pickle.dumps(function))
    assert function(1) == loaded(1) == 20
    assert loaded(1, y=0) == 10
    assert not_a_function(abs) == [abs]


def test_functions_with_name_are_pickled_by_name():
    for function in (decorated, wrapped):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function
    assert name_in_module(scaled(plus_one)) is None
    other = Callable(plus_one)
    assert pickle.loads(pickle.dumps(other))(1) == 2
    with pytest.raises((AttributeError, pickle.PicklingError), match="local object|lookup"):
        pickle.dumps(scaled(lambda x: x))


def test_transformed_functions_have_function_attributes():
    function = scaled(plus_one)
    assert function.__name__ == "plus_one"
    assert function.__doc__ == "Adds."
    assert inspect.signature(function) == inspect.signature(plus_one)
    assert inspect.unwrap(function) is plus_one
    assert weakref.ref(function)() is function
    assert repr(function) == "<scaled of plus_one>"
    assert inspect.signature(scaled).parameters["factor"].default == 2

    class Holder:
        method = scaled(lambda self, x: x)

    assert Holder().method(4) == 8


def test_digests_distinguish_recipes():
    def of(function):
        return digest(function, lambda array: None)

    assert of(scaled(plus_one)) == of(scaled(plus_one))
    assert of(scaled(plus_one)) != of(scaled(plus_one, factor=3))
    assert of(scaled(plus_one)) != of(plus_one)


def test_pickled_programs_have_no_memo():
    def function(x):
        return lax.while_loop(lambda c: lax.lt(c, np.float32(9)), lambda c: lax.mul(c, c), x)

    program = make_olympuspr(function)(np.float32(2))
    program.memo["derived"] = lambda: None
    loaded = pickle.loads(pickle.dumps(program))
    assert str(loaded) == str(program)
    assert loaded.memo == {}
    (result,) = eval_olympuspr(loaded.jaxpr, loaded.consts, np.float32(2))
    assert float(result) == 16.0

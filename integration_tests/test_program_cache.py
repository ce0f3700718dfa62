# SPDX-License-Identifier: Apache-2.0
"""Programs on disk that replace tracing. An edited function is never served a stale program."""

import dataclasses
import logging
import os
import runpy
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import config
from olympus_xla.arrays.layouts import layouts_in_use
from olympus_xla.compiling import program_cache

X = np.arange(1.0, 5.0, dtype=np.float32)

HEAD = """
import functools, dataclasses, typing
import numpy as np
import olympus
import olympus.numpy as jnp
from olympus import lax, nn
"""

# Sources before and after an edit, of the module that defines `f`, and after `# helper` of a module
# that it imports. A case whose name ends with "!" is always traced.
EDITS = {
    "an operator": ("def f(x): return x + 2", "def f(x): return x - 2"),
    "a constant": ("def f(x): return x * 2.0", "def f(x): return x * 2.5"),
    "the type of a constant": ("def f(x): return x * 2", "def f(x): return x * np.float16(2)"),
    "the sign of zero": ("def f(x): return 1 / (x * 0.0)", "def f(x): return 1 / (x * -0.0)"),
    "a name of the library": ("def f(x): return jnp.sin(x)", "def f(x): return jnp.cos(x)"),
    "a module of the library": (
        (
            "import olympus.numpy as m\ndef f(x): return m.sqrt(x).astype(x.dtype) + hasx(x)\n"
            "def hasx(x): return 1"
        ),
        (
            "import olympus.lax as m\ndef f(x): return m.sqrt(x).astype(x.dtype) + hasx(x)\n"
            "def hasx(x): return 2"
        ),
    ),
    "the order of statements": (
        "def f(x):\n  x = x + 1\n  x = x * 2\n  return x",
        "def f(x):\n  x = x * 2\n  x = x + 1\n  return x",
    ),
    "a branch": (
        "def f(x): return x if len(x.shape) > 0 else -x",
        "def f(x): return x if len(x.shape) > 1 else -x",
    ),
    "a loop": (
        "def f(x):\n  for i in range(3): x = x + i\n  return x",
        "def f(x):\n  for i in range(4): x = x + i\n  return x",
    ),
    "the structure of the result": ("def f(x): return [x]", "def f(x): return (x,)"),
    "the keys of the result": ("def f(x): return {'a': x}", "def f(x): return {'b': x}"),
    "a default": ("def f(x, k=2.0): return x * k", "def f(x, k=3.0): return x * k"),
    "a keyword default": ("def f(x, *, k=2.0): return x * k", "def f(x, *, k=3.0): return x * k"),
    "a default of a callee": (
        "def g(x, k=2.0): return x * k\ndef f(x): return g(x)",
        "def g(x, k=3.0): return x * k\ndef f(x): return g(x)",
    ),
    "a callee": (
        "def g(x): return x + 1\ndef f(x): return g(x)",
        "def g(x): return x + 2\ndef f(x): return g(x)",
    ),
    "a callee of a callee": (
        "def h(x): return x + 1\ndef g(x): return h(x)\ndef f(x): return g(x)",
        "def h(x): return x + 2\ndef g(x): return h(x)\ndef f(x): return g(x)",
    ),
    "functions that call each other": (
        (
            "def g(x, n): return x if n == 0 else h(x, n - 1) + 1\n"
            "def h(x, n): return g(x, n)\ndef f(x): return g(x, 3)"
        ),
        (
            "def g(x, n): return x if n == 0 else h(x, n - 1) + 1\n"
            "def h(x, n): return g(x, n) * 2\ndef f(x): return g(x, 3)"
        ),
    ),
    "a global number": ("K = 2.0\ndef f(x): return x * K", "K = 3.0\ndef f(x): return x * K"),
    "a global that a callee reads": (
        "K = 2.0\ndef g(x): return x * K\ndef f(x): return g(x)",
        "K = 3.0\ndef g(x): return x * K\ndef f(x): return g(x)",
    ),
    "a global that an inner function reads": (
        "K = 2.0\ndef f(x): return (lambda y: y * K)(x)",
        "K = 3.0\ndef f(x): return (lambda y: y * K)(x)",
    ),
    "a global that a comprehension reads": (
        "K = 2.0\ndef f(x): return sum([x * K for _ in range(2)])",
        "K = 3.0\ndef f(x): return sum([x * K for _ in range(2)])",
    ),
    "a global that shadows a builtin": (
        "def f(x): return abs(-x)",
        "def abs(x): return x\ndef f(x): return abs(-x)",
    ),
    "a global list": (
        "K = [1.0, 2.0]\ndef f(x): return x * K[1]",
        "K = [1.0, 3.0]\ndef f(x): return x * K[1]",
    ),
    "a global dictionary": (
        "K = {'a': 2.0}\ndef f(x): return x * K['a']",
        "K = {'a': 3.0}\ndef f(x): return x * K['a']",
    ),
    "the order of a dictionary": (
        "K = {'a': 2.0, 'b': 3.0}\ndef f(x): return x * list(K.values())[0]",
        "K = {'b': 3.0, 'a': 2.0}\ndef f(x): return x * list(K.values())[0]",
    ),
    "a dictionary that is changed later": (
        "K = {'a': 2.0}\ndef f(x): return x * K['a']",
        "K = {'a': 2.0}\ndef f(x): return x * K['a']\nK['a'] = 3.0",
    ),
    "a set": (
        "K = {2}\ndef f(x): return x if 2 in K else -x",
        "K = {3}\ndef f(x): return x if 2 in K else -x",
    ),
    "a function in a dictionary": (
        "K = {'a': lambda x: x + 1}\ndef f(x): return K['a'](x)",
        "K = {'a': lambda x: x + 2}\ndef f(x): return K['a'](x)",
    ),
    "a NumPy array": (
        "K = np.arange(4.0)\ndef f(x): return x * K",
        "K = np.arange(4.0) + 1\ndef f(x): return x * K",
    ),
    "an element of a large NumPy array": (
        "K = np.zeros(5000)\ndef f(x): return x[0] * K",
        "K = np.zeros(5000); K[4321] = 1\ndef f(x): return x[0] * K",
    ),
    "the type of a NumPy array": (
        "K = np.ones(4, np.int8)\ndef f(x): return x * K.itemsize",
        "K = np.ones(4, np.int16)\ndef f(x): return x * K.itemsize",
    ),
    "a device array": (
        "K = jnp.arange(4.0)\ndef f(x): return x * K",
        "K = jnp.arange(4.0) + 1\ndef f(x): return x * K",
    ),
    "a NumPy scalar": (
        "K = np.float32(2)\ndef f(x): return x * K",
        "K = np.float32(3)\ndef f(x): return x * K",
    ),
    "a dtype": (
        "K = jnp.float16\ndef f(x): return x.astype(K)",
        "K = jnp.int32\ndef f(x): return x.astype(K)",
    ),
    "a closure": (
        "def make(k):\n  def f(x): return x * k\n  return f\nf = make(2.0)",
        "def make(k):\n  def f(x): return x * k\n  return f\nf = make(3.0)",
    ),
    "a function in a closure": (
        "def make(g):\n  def f(x): return g(x)\n  return f\nf = make(lambda x: x + 1)",
        "def make(g):\n  def f(x): return g(x)\n  return f\nf = make(lambda x: x + 2)",
    ),
    "an array in a closure": (
        "def make(k):\n  def f(x): return x * k\n  return f\nf = make(np.full(4, 2.0))",
        "def make(k):\n  def f(x): return x * k\n  return f\nf = make(np.full(4, 3.0))",
    ),
    "a closure that is changed later": (
        "def make(k):\n  def f(x): return x * k\n  k = 2.0\n  return f\nf = make(1.0)",
        "def make(k):\n  def f(x): return x * k\n  k = 3.0\n  return f\nf = make(1.0)",
    ),
    "an inner function": (
        "def f(x):\n  def g(y): return y + 1\n  return g(x)",
        "def f(x):\n  def g(y): return y + 2\n  return g(x)",
    ),
    "a lambda": ("f = lambda x: x + 1", "f = lambda x: x + 2"),
    "a partial": (
        "def g(k, x): return x * k\nf = functools.partial(g, 2.0)",
        "def g(k, x): return x * k\nf = functools.partial(g, 3.0)",
    ),
    "a keyword of a partial": (
        "def g(x, k): return x * k\nf = functools.partial(g, k=2.0)",
        "def g(x, k): return x * k\nf = functools.partial(g, k=3.0)",
    ),
    "the function of a partial": (
        "def g(k, x): return x * k\nf = functools.partial(g, 2.0)",
        "def g(k, x): return x + k\nf = functools.partial(g, 2.0)",
    ),
    "a decorator": (
        "def d(g): return functools.wraps(g)(lambda x: g(x) + 1)\n@d\ndef f(x): return x",
        "def d(g): return functools.wraps(g)(lambda x: g(x) + 2)\n@d\ndef f(x): return x",
    ),
    "a decorated function": (
        "def d(g): return functools.wraps(g)(lambda x: g(x) + 1)\n@d\ndef f(x): return x",
        "def d(g): return functools.wraps(g)(lambda x: g(x) + 1)\n@d\ndef f(x): return -x",
    ),
    "the argument of a decorator": (
        "def d(k):\n  return lambda g: lambda x: g(x) * k\n@d(2.0)\ndef f(x): return x",
        "def d(k):\n  return lambda g: lambda x: g(x) * k\n@d(3.0)\ndef f(x): return x",
    ),
    "a decorated helper": (
        "def d(g): return lambda x: g(x) + 1\n@d\ndef h(x): return x\ndef f(x): return h(x)",
        "def d(g): return lambda x: g(x) + 2\n@d\ndef h(x): return x\ndef f(x): return h(x)",
    ),
    "a differentiated function": (
        "def g(x): return (x ** 2).sum()\nf = olympus.grad(g)",
        "def g(x): return (x ** 3).sum()\nf = olympus.grad(g)",
    ),
    "a transformation": (
        "def g(x): return x ** 2\ndef f(x): return olympus.vmap(g)(x)",
        "def g(x): return x ** 2\ndef f(x): return olympus.vmap(olympus.grad(g))(x)",
    ),
    "a compiled helper": (
        "@olympus.jit\ndef g(x): return x + 1\ndef f(x): return g(x)",
        "@olympus.jit\ndef g(x): return x + 2\ndef f(x): return g(x)",
    ),
    "a custom derivative": (
        (
            "@olympus.custom_jvp\ndef g(x): return x\n"
            "@g.defjvp\ndef r(p, t): return p[0], 2 * t[0]\n"
            "def f(x): return olympus.grad(lambda x: g(x).sum())(x)"
        ),
        (
            "@olympus.custom_jvp\ndef g(x): return x\n"
            "@g.defjvp\ndef r(p, t): return p[0], 3 * t[0]\n"
            "def f(x): return olympus.grad(lambda x: g(x).sum())(x)"
        ),
    ),
    "a method": (
        "class A:\n  def g(self, x): return x + 1\na = A()\ndef f(x): return a.g(x)",
        "class A:\n  def g(self, x): return x + 2\na = A()\ndef f(x): return a.g(x)",
    ),
    "a bound method": (
        "class A:\n  def g(self, x): return x + 1\nf = A().g",
        "class A:\n  def g(self, x): return x + 2\nf = A().g",
    ),
    "an attribute of an object": (
        "class A: pass\na = A(); a.k = 2.0\ndef f(x): return x * a.k",
        "class A: pass\na = A(); a.k = 3.0\ndef f(x): return x * a.k",
    ),
    "an attribute of a class": (
        "class A:\n  k = 2.0\ndef f(x): return x * A.k",
        "class A:\n  k = 3.0\ndef f(x): return x * A.k",
    ),
    "an attribute of a base class": (
        "class B:\n  k = 2.0\nclass A(B): pass\ndef f(x): return x * A().k",
        "class B:\n  k = 3.0\nclass A(B): pass\ndef f(x): return x * A().k",
    ),
    "a method that is patched": (
        "class A:\n  def g(self, x): return x + 1\na = A()\ndef f(x): return a.g(x)",
        (
            "class A:\n  def g(self, x): return x + 1\na = A()\ndef f(x): return a.g(x)\n"
            "A.g = lambda self, x: x + 2"
        ),
    ),
    "a property": (
        "class A:\n  k = property(lambda self: 2.0)\na = A()\ndef f(x): return x * a.k",
        "class A:\n  k = property(lambda self: 3.0)\na = A()\ndef f(x): return x * a.k",
    ),
    "an attribute that is computed": (
        "class A:\n  def __getattr__(self, name): return 2.0\na = A()\ndef f(x): return x * a.k",
        "class A:\n  def __getattr__(self, name): return 3.0\na = A()\ndef f(x): return x * a.k",
    ),
    "a static method": (
        "class A:\n  @staticmethod\n  def g(x): return x + 1\ndef f(x): return A.g(x)",
        "class A:\n  @staticmethod\n  def g(x): return x + 2\ndef f(x): return A.g(x)",
    ),
    "a field of a dataclass": (
        "@dataclasses.dataclass\nclass A:\n  k: float = 2.0\na = A()\ndef f(x): return x * a.k",
        "@dataclasses.dataclass\nclass A:\n  k: float = 3.0\na = A()\ndef f(x): return x * a.k",
    ),
    "a slot": (
        "class A:\n  __slots__ = ('k',)\na = A(); a.k = 2.0\ndef f(x): return x * a.k",
        "class A:\n  __slots__ = ('k',)\na = A(); a.k = 3.0\ndef f(x): return x * a.k",
    ),
    "a named tuple!": (
        "class A(typing.NamedTuple):\n  k: float\na = A(2.0)\ndef f(x): return x * a.k",
        "class A(typing.NamedTuple):\n  k: float\na = A(3.0)\ndef f(x): return x * a.k",
    ),
    "an object that can be called": (
        "class A:\n  def __call__(self, x): return x + 1\na = A()\ndef f(x): return a(x)",
        "class A:\n  def __call__(self, x): return x + 2\na = A()\ndef f(x): return a(x)",
    ),
    "an attribute of a function": (
        "def g(x): return x * g.k\ng.k = 2.0\ndef f(x): return g(x)",
        "def g(x): return x * g.k\ng.k = 3.0\ndef f(x): return g(x)",
    ),
    "a constant of a module": (
        "import helper\ndef f(x): return x * helper.K\n# helper\nK = 2.0",
        "import helper\ndef f(x): return x * helper.K\n# helper\nK = 3.0",
    ),
    "a function of a module": (
        "import helper\ndef f(x): return helper.g(x)\n# helper\ndef g(x): return x + 1",
        "import helper\ndef f(x): return helper.g(x)\n# helper\ndef g(x): return x + 2",
    ),
    "a global of another module": (
        "from helper import g\ndef f(x): return g(x)\n# helper\nK = 2.0\ndef g(x): return x * K",
        "from helper import g\ndef f(x): return g(x)\n# helper\nK = 3.0\ndef g(x): return x * K",
    ),
    "a patched library": (
        "def f(x): return jnp.square(x)",
        "def f(x): return jnp.square(x)\npatch = (jnp, 'square', lambda x: x + 7)",
    ),
    "an imported function of the library": (
        "from olympus.numpy import sin as g\ndef f(x): return g(x)",
        "from olympus.numpy import cos as g\ndef f(x): return g(x)",
    ),
    # What cannot be known is traced.
    "an import inside!": (
        "def f(x):\n  import helper\n  return x * helper.K\n# helper\nK = 2.0",
        "def f(x):\n  import helper\n  return x * helper.K\n# helper\nK = 3.0",
    ),
    "a module as a value!": (
        "import helper\ndef f(x):\n  m = helper\n  return x * m.K\n# helper\nK = 2.0",
        "import helper\ndef f(x):\n  m = helper\n  return x * m.K\n# helper\nK = 3.0",
    ),
    "a name that is computed!": (
        "import helper\ndef f(x): return x * getattr(helper, 'K')\n# helper\nK = 2.0",
        "import helper\ndef f(x): return x * getattr(helper, 'K')\n# helper\nK = 3.0",
    ),
    "globals()!": (
        "K = 2.0\ndef f(x): return x * globals()['K']",
        "K = 3.0\ndef f(x): return x * globals()['K']",
    ),
    "eval!": ("K = 2.0\ndef f(x): return x * eval('K')", "K = 3.0\ndef f(x): return x * eval('K')"),
    "the globals of a function!": (
        "K = 2.0\ndef g(): pass\ndef f(x): return x * g.__globals__['K']",
        "K = 3.0\ndef g(): pass\ndef f(x): return x * g.__globals__['K']",
    ),
    "a random number!": (
        "np.random.seed(0)\ndef f(x): return x * np.random.normal()",
        "np.random.seed(1)\ndef f(x): return x * np.random.normal()",
    ),
    "a random number of Python!": (
        "import random\nrandom.seed(0)\ndef f(x): return x * random.gauss(0, 1)",
        "import random\nrandom.seed(1)\ndef f(x): return x * random.gauss(0, 1)",
    ),
    "the time!": (
        "from time import time\ndef f(x): return x * (time() > 0)",
        "from time import time\ndef f(x): return x * (time() < 0)",
    ),
    "a file!": (
        "from numpy import fromfile as g\ndef f(x): return x * g('/dev/null').size",
        "from numpy import fromfile as g\ndef f(x): return x * (g('/dev/null').size + 1)",
    ),
    "a file of text!": (
        "from numpy import loadtxt as g\ndef f(x): return x * g(['2'])",
        "from numpy import loadtxt as g\ndef f(x): return x * g(['3'])",
    ),
    "an iterator!": (
        "K = iter([2.0, 4.0])\ndef f(x): return x * next(K, 9.0)",
        "K = iter([3.0, 5.0])\ndef f(x): return x * next(K, 9.0)",
    ),
    "a global that is assigned!": (
        "K = 2.0\ndef f(x):\n  global K\n  K = K + 1\n  return x * K",
        "K = 3.0\ndef f(x):\n  global K\n  K = K + 1\n  return x * K",
    ),
    "an environment variable!": (
        "import os\nos.environ['EDITS'] = '2'\ndef f(x): return x * float(os.environ['EDITS'])",
        "import os\nos.environ['EDITS'] = '3'\ndef f(x): return x * float(os.environ['EDITS'])",
    ),
    "a memo!": (
        "K = 2.0\n@functools.lru_cache\ndef g(): return K\ndef f(x): return x * g()",
        "K = 3.0\n@functools.lru_cache\ndef g(): return K\ndef f(x): return x * g()",
    ),
    "a registered pytree!": (
        (
            "class A:\n  def __init__(self, k): self.k = k\n"
            "olympus.tree_util.register_pytree_node(\n"
            "  A, lambda a: ((a.k,), None), lambda _, c: A(c[0] * 2.0))\n"
            "def f(x): return olympus.tree.map(lambda y: y, A(x)).k"
        ),
        (
            "class A:\n  def __init__(self, k): self.k = k\n"
            "olympus.tree_util.register_pytree_node(\n"
            "  A, lambda a: ((a.k,), None), lambda _, c: A(c[0] * 3.0))\n"
            "def f(x): return olympus.tree.map(lambda y: y, A(x)).k"
        ),
    ),
    "a callback!": (
        (
            "def g(x): return x + 1\n"
            "def f(x): return olympus.pure_callback(g, olympus.ShapeDtypeStruct((4,), x.dtype), x)"
        ),
        (
            "def g(x): return x + 2\n"
            "def f(x): return olympus.pure_callback(g, olympus.ShapeDtypeStruct((4,), x.dtype), x)"
        ),
    ),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    # Other tests of the process have set layouts, with which programs are traced.
    monkeypatch.setattr(layouts_in_use, "in_use", False)
    config.update("olympus_cache_dir", os.fspath(tmp_path / "olympus"))
    yield tmp_path / "olympus"
    config.update("olympus_cache_dir", None)


@pytest.fixture
def patched(monkeypatch):
    """Runs a module's source; applies the patch that it may define to the library."""

    def run(source):
        main, _, helper = textwrap.dedent(source).partition("# helper\n")
        other = types.ModuleType("helper")
        monkeypatch.setitem(sys.modules, "helper", other)
        exec(compile(HEAD + helper, "<helper>", "exec"), vars(other))
        module = types.ModuleType("edited")
        monkeypatch.setitem(sys.modules, "edited", module)
        exec(compile(HEAD + main, "<edited>", "exec"), vars(module))
        if hasattr(module, "patch"):
            monkeypatch.setattr(*module.patch)
        return module.f

    return run


def value_and_origin(function, *args, **options):
    """Calls a function compiled anew; returns the result and whether it was found on disk."""
    jitted = olympus.jit(function, cache=True, **options)
    result = jitted(*args)
    return result, bool(program_cache._loaded.of(function))


def assert_equal(one, other):
    assert olympus.tree.structure(one) == olympus.tree.structure(other)
    for left, right in zip(olympus.tree.leaves(one), olympus.tree.leaves(other), strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("name", EDITS)
def test_edited_functions_are_traced_again(name, patched):
    before, after = EDITS[name]
    first, from_disk = value_and_origin(patched(before), X)
    assert not from_disk
    again, from_disk = value_and_origin(patched(before), X)
    assert from_disk == (not name.endswith("!"))
    assert_equal(again, first)
    expected = olympus.jit(patched(after))(X)
    edited, from_disk = value_and_origin(patched(after), X)
    assert not from_disk
    assert_equal(edited, expected)


# ---- calls that differ ----


def scaled(x, k=2.0):
    return olympus.tree.map(lambda leaf: leaf * k, x)


def copied(function):
    """Returns a new function object with the same code."""
    copy = types.FunctionType(function.__code__, function.__globals__, function.__name__)
    copy.__defaults__ = function.__defaults__
    return copy


ARGUMENTS = {
    "shape": X[:2],
    "dtype": X.astype(np.int32),
    "weak type": 2.0,
    "Python integer": 2,
    "list": [X],
    "tuple": (X,),
    "key": {"a": X},
    "another key": {"b": X},
    "nested": [(X,), {"a": X}],
    "committed": "committed",
}


def test_programs_are_keyed_by_argument_types():
    def given(value):
        return olympus.device_put(X, olympus.devices()[0]) if isinstance(value, str) else value

    for expect in (False, True):
        for argument in (X, *ARGUMENTS.values()):
            result, from_disk = value_and_origin(copied(scaled), given(argument))
            assert from_disk == expect, argument
            assert_equal(result, olympus.jit(scaled)(given(argument)))
            for leaf in olympus.tree.leaves(result):
                expected = olympus.tree.leaves(olympus.jit(scaled)(given(argument)))[0]
                assert leaf.committed == expected.committed
                assert leaf.weak_type == expected.weak_type


def test_static_arguments_are_part_of_the_key():
    for expect in (False, True):
        for k in (2, 3, 2.0, 0.0, -0.0, "ab", (1, 2)):
            options = {"static_argnums": 1}

            def repeated(x, k):
                return x * len(k) if isinstance(k, str | tuple) else x * k

            result, from_disk = value_and_origin(repeated, X, k, **options)
            assert from_disk == expect
            factor = len(k) if isinstance(k, str | tuple) else k
            np.testing.assert_array_equal(np.signbit(result), np.signbit(X * factor))
            np.testing.assert_array_equal(result, X * factor)


FLAGS = {
    "olympus_enable_x64": True,
    "olympus_default_matmul_precision": "highest",
    "olympus_numpy_dtype_promotion": "strict",
    "olympus_outline_repeated_blocks": False,
    "olympus_threefry_partitionable": False,
}


@pytest.mark.parametrize("flag", FLAGS)
def test_configuration_is_part_of_the_key(flag):
    value_and_origin(copied(scaled), X)
    assert value_and_origin(copied(scaled), X)[1]
    before = getattr(config, flag)
    config.update(flag, FLAGS[flag])
    try:
        assert not value_and_origin(copied(scaled), X)[1]
    finally:
        config.update(flag, before)
    assert value_and_origin(copied(scaled), X)[1]


def test_versions_and_machine_are_part_of_key(monkeypatch):
    value_and_origin(copied(scaled), X)
    cache_key = program_cache.cache_key
    others = (
        (program_cache, "source_files", lambda packages: "another"),
        (program_cache.np, "__version__", "another"),
        (program_cache, "_FORMAT_VERSION", 99),
        (cache_key, "__version__", "another"),
        (cache_key, "processor_identity", lambda: "another"),
        (cache_key._jaxlib, "build_identity", lambda: "another"),
    )
    for owner, name, value in others:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value)
            assert not value_and_origin(copied(scaled), X)[1]
    monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", "") + " --xla_a=1")
    assert not value_and_origin(copied(scaled), X)[1]


# ---- use ----


def test_second_process_runs_no_code_of_function(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
            import numpy as np, olympus, olympus.numpy as jnp
            from olympus import nn
            def layer(w, x):
                return nn.relu(x @ w["kernel"]) + w["bias"]
            def loss(w, x):
                factor = jnp.linalg.cholesky(w["kernel"] + 9 * jnp.eye(4))
                return jnp.mean(layer(w, x) ** 2) + factor.sum()
            @olympus.jit(donate_argnums=0)
            def step(w, x):
                value, slopes = olympus.value_and_grad(loss)(w, x)
                return olympus.tree.map(lambda p, g: p - 0.1 * g, w, slopes), value
            w = {"kernel": jnp.eye(4), "bias": jnp.zeros(4)}
            x = np.ones((2, 4), np.float32)
            for _ in range(3):
                w, value = step(w, x)
            print(float(value), olympus.time_report(show=False).traced)
        """)
    )
    environment = {
        **os.environ,
        "OLYMPUS_PROGRAM_CACHE": "1",
        "OLYMPUS_CACHE_DIR": os.fspath(tmp_path / "cache"),
        "OLYMPUS_COLD_EVALUATION": "exact",
    }

    def run():
        command = [sys.executable, "-W", "error", os.fspath(program)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    first, second = run(), run()
    assert first[0] == second[0]
    assert int(second[1]) < int(first[1])
    program.write_text(program.read_text().replace("0.1 * g", "0.2 * g"))
    assert run()[0] != first[0]


def test_results_keep_their_kind():
    def several(x, y):
        return {"a": x + 1, "b": (y, None, [x.astype(bool), jnp.float16(2)])}

    for expect in (False, True):
        fresh = copied(several)
        result, from_disk = value_and_origin(fresh, X, 3)
        assert from_disk == expect
        assert_equal(result, olympus.jit(several)(X, 3))
        assert result["b"][0].weak_type
        again = olympus.jit(fresh, cache=True)
        for _ in range(3):
            assert_equal(again(X, 3), result)


def test_derivatives_of_a_function_from_disk():
    for _ in range(2):
        fresh = copied(scaled)
        jitted = olympus.jit(fresh, cache=True)
        np.testing.assert_array_equal(jitted(X), 2 * X)
        slope = olympus.grad(lambda x, function=jitted: function(x).sum())(X)
        np.testing.assert_array_equal(slope, np.full(4, 2.0))
        assert jitted.lower(X).compile()(X).shape == (4,)


def test_rewritten_control_flow(tmp_path):
    source = "K = 2.0\ndef f(x):\n  if x.sum() > K: x = x * K\n  return x\n"
    results = []
    for k in ("2.0", "3.0", "100.0"):
        path = tmp_path / f"module{k[0]}.py"
        path.write_text(source.replace("2.0", k))
        function = runpy.run_path(os.fspath(path))["f"]
        results.append(float(olympus.jit(function, control_flow=True, cache=True)(X)[0]))
    assert results == [2.0, 3.0, 1.0]


def test_cached_functions_raise_the_usual_argument_errors(folder):
    with pytest.raises(TypeError, match="abstract array"):
        olympus.jit(copied(scaled), cache=True)(object())
    with pytest.raises(ValueError, match="Non-hashable"):
        olympus.jit(copied(scaled), cache=True, static_argnums=1)(X, [1])


def test_the_reason_is_logged(caplog):
    caplog.set_level(logging.DEBUG, "olympus._src.program_cache")
    olympus.jit(lambda x: (print("traced"), x)[1], cache=True)(X)
    assert "<lambda> is traced: `" in caplog.text and "calls print" in caplog.text
    caplog.clear()

    @dataclasses.dataclass
    class Box:
        k: float

    olympus.tree_util.register_dataclass(Box, ["k"], [])
    olympus.jit(lambda box: box.k, cache=True)(Box(2.0))
    assert "contains the pytree Box" in caplog.text


def test_damaged_cache_files(folder):
    value_and_origin(copied(scaled), X)
    (path,) = (folder / "programs").glob("*-cache")
    for contents in (b"", path.read_bytes()[:-1]):
        program_cache._told.clear()
        path.write_bytes(contents)
        with pytest.warns(UserWarning, match="a program of scaled cannot be read"):
            result, from_disk = value_and_origin(copied(scaled), X)
        assert not from_disk
        np.testing.assert_array_equal(result, 2 * X)


def test_either_flag_switches_the_cache_off(folder):
    config.update("olympus_enable_compilation_cache", False)
    try:
        value_and_origin(copied(scaled), X)
        assert not folder.exists()
    finally:
        config.update("olympus_enable_compilation_cache", True)
    assert not config.olympus_program_cache
    olympus.jit(copied(scaled))(X)
    assert not (folder / "programs").exists()
    config.update("olympus_program_cache", True)
    try:
        olympus.jit(copied(scaled), cache=False)(X)
        assert not (folder / "programs").exists()
        olympus.jit(copied(scaled))(X)
    finally:
        config.update("olympus_program_cache", False)
    assert len(list((folder / "programs").glob("*-cache"))) == 1


# ---- programs found without lowering ----

ALL_RULES = """
import importlib, pkgutil
import olympus, olympus.nn, olympus.random
import olympus_xla.compiling.program_lowering
from olympus_ir.programs.rules import all_tables
for table in list(all_tables.values()):
    table.load_all()
for name in ("olympus_ir", "olympus_xla", "olympus_random"):
    for module in pkgutil.walk_packages(importlib.import_module(name).__path__, name + "."):
        importlib.import_module(module.name)
print([each.name for table in all_tables.values() for each in table.replaced])
"""


def test_olympus_rules_are_not_third_party_rules():
    done = subprocess.run(
        [sys.executable, "-c", ALL_RULES], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

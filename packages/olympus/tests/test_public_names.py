# SPDX-License-Identifier: Apache-2.0
"""Every public name leads to an object of a lower package, and importing the names stays light."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import subprocess
import sys
import types

import numpy as np
import pytest

import olympus
import olympus_autodiff
import olympus_batching
import olympus_ir
import olympus_numpy
import olympus_random

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(olympus.__path__, "olympus.")
    if not found.name.rpartition(".")[2].startswith("_")
)

# The import names of the inner packages.
INNER = "|".join(
    rf"\b{each.name}\b" for each in pkgutil.iter_modules() if each.name.startswith("olympus_")
)

# Names from a library that need not be installed.
NEEDS_TENSORSTORE = {"olympus.experimental.array_serialization.tensorstore_impl.TS_CONTEXT"}
MISSING = set() if importlib.util.find_spec("tensorstore") else NEEDS_TENSORSTORE


def run_python(source: str) -> str:
    command = [sys.executable, "-c", source]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ["olympus", *MODULES])
def test_every_name_resolves(name: str) -> None:
    module = importlib.import_module(name)
    names = {*dir(module), *getattr(module, "__all__", ())}
    assert names
    found = {each for each in names if f"{name}.{each}" not in MISSING}
    assert [each for each in found if not hasattr(module, each)] == []


def test_submodules_are_attributes() -> None:
    direct = [name for name in MODULES if name.count(".") == 1]
    program = "import olympus\n" + "\n".join(f"print({name}.__name__)" for name in direct)
    assert run_python(program).split() == direct


def test_names_are_objects_of_lower_packages() -> None:
    assert olympus.grad is olympus_autodiff.grad
    assert olympus.vmap is olympus_batching.vmap
    assert olympus.numpy.cumsum is olympus_numpy.cumsum
    assert olympus.random.split is olympus_random.split
    assert olympus.lax.add_p is olympus_ir.lax.add_p


@pytest.mark.parametrize("name", ["olympus", "olympus.lax", "olympus.numpy", "olympus.random"])
def test_objects_name_public_modules(name: str) -> None:
    module = importlib.import_module(name)
    members = {each: getattr(module, each) for each in dir(module) if not each.startswith("_")}
    callables = {each: member for each, member in members.items() if callable(member)}
    inner = [
        each for each, member in callables.items() if str(member.__module__).startswith("olympus_")
    ]
    assert inner == []


@pytest.mark.parametrize("name", [name for name in ["olympus", *MODULES] if "compat" not in name])
def test_docstrings_of_functions_name_no_inner_packages(name: str) -> None:
    module = importlib.import_module(name)
    functions = [getattr(module, each, None) for each in dir(module) if each[0] != "_"]
    texts = [each.__doc__ or "" for each in functions if isinstance(each, types.FunctionType)]
    assert [line for text in texts for line in text.splitlines() if re.search(INNER, line)] == []


def test_aliases_of_scalar_types_name_public_modules() -> None:
    program = "from olympus.numpy import cdouble, double; print(cdouble, double)"
    shown = "<class 'olympus.numpy.complex128'> <class 'olympus.numpy.float64'>"
    assert run_python(program).strip() == shown


def test_unknown_names_are_reported_with_their_module() -> None:
    with pytest.raises(AttributeError, match="'olympus' has no attribute 'gradient'"):
        _ = olympus.gradient


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("get_opaque_trace_state", " Use olympus.extend.core.get_opaque_trace_state."),
        ("check_jaxpr", " Use olympus.extend.core.check_jaxpr."),
        ("pytype_aval_mappings", ""),
    ],
)
def test_moved_names_warn_at_each_use(name: str, hint: str) -> None:
    for _ in range(2):
        with pytest.warns(DeprecationWarning) as caught:
            assert getattr(olympus.core, name)
        assert str(caught[0].message) == f"olympus.core.{name} is deprecated.{hint}"
    assert name not in dir(olympus.core)


def test_deprecated_names_name_their_replacement() -> None:
    with pytest.warns(DeprecationWarning, match=r"pjit\.pjit has been .* use `olympus\.jit`"):
        assert olympus.experimental.pjit.pjit(lambda x: x + 1)(1) == 2
    with pytest.raises(AttributeError, match="has no attribute 'xmap'"):
        _ = olympus.experimental.pjit.xmap


@pytest.mark.parametrize(("module", "name"), [("pallas", "dot"), ("pallas.tpu", "semaphore_wait")])
def test_moved_kernel_names_warn(module: str, name: str) -> None:
    where = importlib.import_module(f"olympus.experimental.{module}")
    with pytest.warns(DeprecationWarning, match=rf"{module}\.{name} is deprecated\. Use olympus"):
        assert callable(getattr(where, name))


def test_importing_loads_no_unneeded_modules() -> None:
    loaded = run_python("import sys, olympus.numpy; print(*sys.modules)").split()
    assert {"olympus", "olympus_numpy", "numpy"} <= set(loaded)
    unwanted = {"jax", "scipy", "matplotlib", "olympus_testing", "pytest", "unittest"}
    assert unwanted & set(loaded) == set()


@pytest.mark.parametrize("module", ["numpy", "lax"])
def test_star_import_includes_lazy_names(module: str) -> None:
    program = f"import olympus.{module}\nbefore = set(vars(olympus.{module}))\n"
    program += f"from olympus.{module} import *\nprint({{'numpy': 'linspace', 'lax': 'conv'}}"
    program += f"['{module}'] in before, *(name for name in globals()))"
    loaded, *names = run_python(program).split()
    assert loaded == "False"
    assert {"numpy": {"linspace", "sin", "fft"}, "lax": {"conv", "cond", "fft"}}[module] <= {*names}
    assert not {"creation", "elementwise", "later"} & {*names}


def test_importing_loads_no_rarely_used_modules() -> None:
    loaded = run_python("import sys, olympus.numpy; print(*sys.modules)").split()
    rare = {"dataclasses", "logging", "jaxlib.xla_client", "olympus_ir.lax.ragged", "hashlib"}
    assert rare & set(loaded) == set()


def test_training_step_loads_few_modules() -> None:
    program = """
import sys
import numpy as np
import olympus
from olympus import nn, random, sharding
import olympus.numpy as jnp
loss = lambda w, x: jnp.sum(nn.relu(olympus.jit(jnp.dot)(x, w)))
olympus.jit(olympus.grad(loss))(np.ones(3, np.float32), np.eye(3, dtype=np.float32))
random.key(0)
print(*sys.modules)
"""
    loaded = set(run_python(program).split())
    late = """
        olympus_nn.attention olympus_nn.initializers olympus_nn.scaled_products
        olympus_random.samplers.gamma olympus_random.samplers.counts
        olympus_autodiff.custom.solves olympus_autodiff.rematerialization.checkpoint
        olympus_autodiff.reverse.jacobian olympus_xla.foreign.buffer_callbacks
        olympus_ir.references.values dataclasses json importlib.resources
    """
    assert loaded & set(late.split()) == set()


def test_importing_starts_no_device() -> None:
    # The first computation makes the clients; before it, platforms can be chosen.
    program = "import olympus.numpy as jnp\nimport olympus\n"
    program += "olympus.config.update('olympus_platforms', 'cpu')\nprint(jnp.ones(2).devices())"
    assert "cpu" in run_python(program).lower()


@pytest.mark.parametrize(
    "name", ["cholesky_p", "random_bits_p", "threefry2x32_p", "random_gamma_p", "lu_p", "add_p"]
)
def test_lazy_primitives_can_be_imported(name: str) -> None:
    program = f"from olympus.extend.core.primitives import {name}; print({name})"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == name.removesuffix("_p")


def test_arrays_name_the_public_namespace():
    import olympus
    import olympus.numpy as jnp

    assert jnp.zeros(2).__array_namespace__() is jnp
    assert jnp.__array_namespace_info__().devices() == [None, *olympus.devices()]
    assert jnp.__array_api_version__ == "2024.12"
    x = jnp.arange(3, dtype=jnp.bfloat16)
    assert jnp.from_dlpack(x).dtype == jnp.bfloat16


@pytest.mark.parametrize("name", ["lpmn", "lpmn_values"])
def test_legendre_functions_are_deprecated(name):
    from olympus.scipy import special

    with pytest.warns(DeprecationWarning, match=f"special.{name} is deprecated"):
        function = getattr(special, name)
    assert function.__name__ == name
    assert name not in dir(special)


def test_reductions_by_public_functions_use_their_own_primitives():
    def folded(x):
        window = ((1, 2), (1, 1), "VALID")
        return (
            olympus.lax.reduce_window(x, -np.inf, olympus.lax.max, *window),
            olympus.lax.reduce_window(x, 0.0, olympus.lax.add, *window),
            olympus.lax.reduce(x, np.inf, olympus.lax.min, (0,)),
        )

    program = olympus.make_jaxpr(folded)(np.ones((2, 4), np.float32))
    names = [equation.primitive.name for equation in program.eqns]
    assert names == ["reduce_window_max", "reduce_window_sum", "reduce_min"]


def test_einsum_with_public_dot_general_is_compiled_once(monkeypatch):
    module = importlib.import_module("olympus_numpy.products.einsum")
    called = []
    compiled = module._einsum
    monkeypatch.setattr(module, "_einsum", lambda *args: called.append(args) or compiled(*args))
    x = np.ones((2, 3), np.float32)
    product = olympus.numpy.einsum("ij,kj->ik", x, x, _dot_general=olympus.lax.dot_general)
    assert len(called) == 1
    np.testing.assert_array_equal(product, x @ x.T)


def test_stax_layers_and_initializers() -> None:
    stax = importlib.import_module("olympus.example_libraries.stax")
    functions = (
        "elu gelu leaky_relu log_softmax relu selu sigmoid softmax softplus standardize".split()
    )
    assert [getattr(stax, name) for name in functions] == [
        getattr(olympus.nn, name) for name in functions
    ]
    initializers = "glorot_normal normal ones zeros".split()
    assert [getattr(stax, name) for name in initializers] == [
        getattr(olympus.nn.initializers, name) for name in initializers
    ]

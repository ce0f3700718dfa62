# SPDX-License-Identifier: Apache-2.0
"""Errors of malformed calls show no line of the library, whatever public function is called."""

from __future__ import annotations

import ast
import importlib
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import export
from olympus.experimental import checkify, io_callback
from olympus.experimental.layout import Layout
from olympus.flatten_util import ravel_pytree

sys.path.insert(0, str(Path(__file__).parent.parent / "tools" / "differential"))
try:
    import calls
finally:
    del sys.path[0]

# Mistakes, as expressions that take the place of the first argument.
MISTAKES = ("'text'", "None")

# Errors that programs expect of malformed calls.
EXPECTED = (TypeError, ValueError, IndexError, KeyError, NotImplementedError, ArithmeticError)

# Calls whose operand is asked for an attribute of its format, and a user's function that fails.
ASKED = (
    *("sparse.", "root.pure_callback", "jsp.stats.gaussian_kde"),
    *("root.sharding.NamedSharding", "jsp.spatial.transform.Rotation.concatenate"),
)

LIBRARY = tuple(str(path) for path in (Path(__file__).parent.parent / "packages").glob("*/src"))


def with_mistake(expression: str, mistake: str) -> str | None:
    """Returns a call whose first argument is replaced; None where the expression is no call."""
    tree = ast.parse(expression, mode="eval")
    call = tree.body
    if not isinstance(call, ast.Call) or not call.args:
        return None
    call.args[0] = ast.parse(mistake, mode="eval").body
    return ast.unparse(tree)


CALLS = {**calls.sections(), **calls.sections(folder=calls.OBJECTS)}


def shown(error: BaseException) -> list[str]:
    """Returns the library's lines that a traceback shows."""
    frames = traceback.extract_tb(error.__traceback__)
    return [
        f"{each.filename}:{each.lineno}" for each in frames if each.filename.startswith(LIBRARY)
    ]


def chain(error: BaseException) -> BaseException | None:
    """Returns the error that Python prints before this one."""
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("section", CALLS)
def test_malformed_calls_show_no_line_of_library(section: str, mistake: str) -> None:
    faults = []
    for expression in CALLS[section]:
        call = with_mistake(expression, mistake)
        if call is None:
            continue
        names = calls.operands_of(call)
        values = [calls.operand(name, "float32") for name in names]
        operands = [
            olympus.random.wrap_key_data(value) if name == "key" else olympus.numpy.asarray(value)
            for name, value in zip(names, values, strict=True)
        ]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                calls.function(call, "olympus")(*operands)
        except Exception as error:
            if not isinstance(error, EXPECTED) and not call.startswith(ASKED):
                faults.append(f"{call}: {type(error).__name__}: {error}")
            if shown(error):
                faults.append(f"{call}: shows {shown(error)[-1]}")
            if chain(error) is not None:
                faults.append(f"{call}: is chained to {chain(error)!r}")
    assert faults == []


def faults_of(call: str, made: object, *args: object) -> list[str]:
    """Returns the faults of the error of a call; none if there is no error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made(*args)  # type: ignore[operator]
    except Exception as error:
        seen = shown(error)
        return [f"{call}{args}: shows {seen[-1]}"] if seen else []
    return []


ROW = jnp.arange(3.0)
ROW_TYPE = olympus.ShapeDtypeStruct((3,), np.float32)
MESH = olympus.make_mesh((1,), ("x",))

# What public functions return, and classes, which users call.
MADE = {
    "AbstractMesh": olympus.sharding.AbstractMesh,
    "Layout": Layout,
    "Mesh": olympus.sharding.Mesh,
    "NamedSharding": olympus.NamedSharding,
    "Ref + 1": olympus.new_ref(ROW).__add__,
    "Ref.set": olympus.new_ref(ROW).set,
    "Ref[...]": olympus.new_ref(ROW).__setitem__,
    "checkify": checkify.checkify(jnp.sin),
    "checked": olympus.checked(jnp.sin),
    "compiled": olympus.jit(jnp.sin).lower(ROW).compile(),
    "export": export.export(olympus.jit(jnp.sin)),
    "exported.call": export.export(olympus.jit(jnp.sin))(ROW).call,
    "ffi_call": olympus.ffi.ffi_call("nonesuch", ROW_TYPE),
    "initializer": olympus.nn.initializers.glorot_uniform(),
    "key[...]": olympus.random.key(0).__setitem__,
    "len(key)": olympus.random.key(0).__len__,
    "linearize": olympus.linearize(jnp.sin, ROW)[1],
    "memory.save": olympus.memory(jnp.sin, ROW).save,
    "named_sharding.shard_shape": olympus.NamedSharding(MESH, olympus.P("x")).shard_shape,
    "named_sharding.with_memory_kind": olympus.NamedSharding(MESH, olympus.P()).with_memory_kind,
    "shard_map": olympus.shard_map(jnp.sin, mesh=MESH, in_specs=olympus.P(), out_specs=olympus.P()),
    "set_mesh": olympus.set_mesh,
    "show.save": olympus.show(jnp.sin, ROW).save,
    "symbolic dimension": export.symbolic_shape("n")[0].__lt__,
    "unravel": ravel_pytree(ROW)[1],
    "vectorize": jnp.vectorize(jnp.sin, signature="(n)->(n)"),
    "vjp": olympus.vjp(jnp.sin, ROW)[1],
}
MALFORMED = [(), (object(),), (None,), (ROW, ROW, ROW, ROW), (7,), ({"a": ROW},), (object(), 2)]


@pytest.mark.parametrize("name", MADE)
def test_returned_functions_show_no_library_line(name: str) -> None:
    faults = [fault for args in MALFORMED for fault in faults_of(name, MADE[name], *args)]
    assert faults == []


# Types of which tracing makes many, so their constructors are not wrapped.
FREQUENT = {"AbstractRef", "HiPrimitive", "Partial", "ShapedArray", "VJPHiPrimitive"}
MODULES = [
    *("", "dtypes", "export", "lax", "numpy", "profiler", "sharding", "stages", "tree_util"),
    *("experimental.custom_partitioning", "experimental.hijax", "experimental.layout"),
    *("experimental.pallas", "experimental.sparse"),
]


def classes_of(module: str) -> dict[str, type]:
    """Returns the public classes of a module that OLYMPUS defines, without errors."""
    public = importlib.import_module(f"olympus.{module}".rstrip("."))
    members = {name: getattr(public, name) for name in dir(public) if not name.startswith("_")}
    return {
        name: kind
        for name, kind in members.items()
        if isinstance(kind, type)
        and str(kind.__module__).startswith("olympus")
        and not issubclass(kind, BaseException)
        and name not in FREQUENT
    }


@pytest.mark.parametrize("module", MODULES)
def test_classes_show_no_line_of_the_library(module: str) -> None:
    calls_of = [(), ("text",), (7, "text"), ({"a": ROW},), ("a", "b", "c"), (None,)]
    faults = [
        fault
        for name, kind in classes_of(module).items()
        for args in calls_of
        for fault in faults_of(name, kind, *args)
    ]
    assert faults == []


def host_function(x: np.ndarray) -> np.ndarray:
    raise KeyError("missing")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: olympus.pure_callback(host_function, ROW_TYPE, x),
        olympus.jit(lambda x: olympus.pure_callback(host_function, ROW_TYPE, x)),
        olympus.jit(lambda x: olympus.debug.callback(host_function, x)),
        olympus.jit(lambda x: io_callback(host_function, ROW_TYPE, x, ordered=True)),
        olympus.jit(lambda x: olympus.pure_callback(lambda y: y[:2], ROW_TYPE, x)),
    ],
)
def test_errors_of_callbacks_show_only_lines_of_user(call: Callable[..., object]) -> None:
    with pytest.raises(olympus.errors.JaxRuntimeError) as caught:
        olympus.block_until_ready(call(ROW))
        olympus.effects_barrier()
    error: BaseException | None = caught.value
    assert not any(folder in str(error) for folder in LIBRARY)
    if hasattr(call, "lower"):  # compiled programs name the line of the call
        line = call.__wrapped__.__code__.co_firstlineno
        assert f"was traced at {__file__}:{line} (<lambda>)" in str(error)
    while error is not None:
        assert shown(error) == []
        error = chain(error)

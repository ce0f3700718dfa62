# SPDX-License-Identifier: Apache-2.0
"""Programs whose executables are found on disk without lowering: their digests and the index."""

import ast
import importlib.util
import os
import pathlib
import re

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.diagnostics.name_stacks import Mark
from olympus_ir.lax.callbacks import pure_callback
from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.tracing import trace_call
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.settings import config_cache_flags, config_flags, config_states
from olympus_sharding import NamedSharding, PartitionSpec, with_sharding_constraint
from olympus_testing import cases
from olympus_xla import _jaxlib, clear_caches, device_put, jit
from olympus_xla.arrays.layouts import layouts_in_use
from olympus_xla.calls import program_executables
from olympus_xla.compiling import cache_key, compilation_cache
from olympus_xla.compiling.compiler import compiled_programs
from olympus_xla.compiling.lowering import mlir
from olympus_xla.compiling.placement.placements import on_one_device
from olympus_xla.compiling.placement.resolution import resolve_placement
from olympus_xla.compiling.program_lowering import lower
from olympus_xla.compiling.recognition import program_digest, sources

X = np.linspace(0.5, 2.0, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def first_uses(monkeypatch):
    """Forgets that other tests of this process used layouts or marks, which digests exclude."""
    monkeypatch.setattr(layouts_in_use, "in_use", False)
    monkeypatch.setattr(Mark, "are_used", False)


@pytest.fixture
def digest_of(devices):
    """Returns the digest of a call."""

    def digest(function, *args, device=devices[0], placement=None, **options):
        program, _ = trace_call(function, JitOptions(**options), args, {})
        placement = placement or on_one_device(device, False)
        return program_digest.program_digest(program, JitOptions(**options), placement)

    return digest


@pytest.fixture
def folder(tmp_path):
    """The user's cache folder, empty."""
    clear_caches()
    compilation_cache.reset_cache()
    config_cache_flags.cache_dir.update(os.fspath(tmp_path / "olympus"))
    yield tmp_path / "olympus"
    config_cache_flags.cache_dir.update(None)
    compilation_cache.reset_cache()
    clear_caches()


def base(x):
    return lax.reduce_sum(lax.mul(lax.sin(x), 2.0), (0,))


# ---- what counts ----


def with_constant(constant):
    return lambda x: lax.add(x, constant)


def with_inner(constant):
    return lambda x: lax.while_loop(
        lambda x: lax.lt(x[0, 0], 3.0), lambda x: lax.add(x, lax.mul(x, constant)), x
    )


small, large = np.ones((3, 4), np.float32), np.ones((300, 4), np.float32)

# Pairs of functions whose programs differ in one place.
MUTATIONS = {
    "primitive": (lambda x: lax.sin(x), lambda x: lax.cos(x)),
    "parameter": (lambda x: lax.reduce_sum(x, (0,)), lambda x: lax.reduce_sum(x, (1,))),
    "enumeration": (
        lambda x: lax.dot(x, x.T, precision="highest"),
        lambda x: lax.dot(x, x.T, precision="default"),
    ),
    "dtype of a parameter": (
        lambda x: lax.convert_element_type(x, np.int32),
        lambda x: lax.convert_element_type(x, np.int16),
    ),
    "order of operands": (lambda x: lax.sub(x, lax.sin(x)), lambda x: lax.sub(lax.sin(x), x)),
    "literal": (lambda x: lax.mul(x, 2.0), lambda x: lax.mul(x, 2.0000002)),
    "sign of zero": (lambda x: lax.mul(x, 0.0), lambda x: lax.mul(x, -0.0)),
    "type of a literal": (lambda x: (x, 1), lambda x: (x, 1.0)),
    "bool and number": (lambda x: (x, 1), lambda x: (x, True)),
    "constant": (with_constant(small), with_constant(small * 2)),
    "dtype of a constant": (lambda x: (x, np.zeros(2, np.int32)), lambda x: (x, small[0, :2] * 0)),
    "shape of a constant": (lambda x: (x, small), lambda x: (x, small.T)),
    "shape of a large constant": (lambda x: (x, large), lambda x: (x, large.T)),
    "constant of a loop": (with_inner(small), with_inner(small * 2)),
    "name of a result": (lambda x: {"a": x}, lambda x: {"b": x}),
    "number of results": (lambda x: x, lambda x: (x, x)),
    "order of results": (lambda x: (x, lax.sin(x)), lambda x: (lax.sin(x), x)),
    "unused equation": (lambda x: lax.sin(x), lambda x: (lax.cos(x), lax.sin(x))[1]),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_part_of_program_changes_digest(digest_of, name):
    first, second = (rename(function) for function in MUTATIONS[name])
    assert digest_of(first, X) is not None
    assert digest_of(first, X) != digest_of(second, X)


def rename(function):
    function.__name__ = "f"
    return function


def test_values_of_large_constants_are_not_digested(digest_of):
    one, other = (rename(with_constant(value)) for value in (large, large * 2))
    assert digest_of(one, large) == digest_of(other, large)


def test_other_properties_change_the_digest(digest_of, devices, monkeypatch):
    first = digest_of(base, X)
    function = rename(lambda x: base(x))  # another function with the same program
    assert digest_of(function, X, name="base") == first
    found = [
        digest_of(base, X[:2]),
        digest_of(base, X[0]),
        digest_of(function, X),
        digest_of(base, X, device=devices[1]),
        digest_of(base, X, donate_argnums=(0,)),
        digest_of(base, X, keep_unused=True),
        digest_of(base, X, compile_budget=1.0),
        digest_of(base, X, compiler_options=(("xla_cpu_enable_fast_math", True),)),
        digest_of(base, X, name="another"),
    ]
    for flag in (config_flags.cpu_lowerings, config_flags.outline_repeated_blocks):
        flag.update(False)
        found.append(digest_of(base, X))
        flag.update(True)
    with config_states.default_matmul_precision("float32"):
        found.append(digest_of(base, X))
    for name, value in (("XLA_FLAGS", "--xla_a=1"), ("NPROC", "3")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            found.append(digest_of(base, X))
    for where, name, value in (
        (_jaxlib, "build_identity", lambda: "another"),
        (cache_key, "processor_identity", lambda: "another"),
        (cache_key, "usable_processors", lambda: "another"),
        (cache_key, "__version__", "another"),
        (np, "__version__", "another"),
        (program_digest.sys, "version", "another"),
        (program_digest, "source_files", lambda packages: "another"),
        (program_digest, "_FORMAT_VERSION", 99),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, value)
            found.append(digest_of(base, X))
    assert None not in found
    assert len({first, *found}) == len(found) + 1
    assert digest_of(base, X) == first


def test_weak_types_change_the_digest(digest_of):
    assert digest_of(lambda x: lax.sin(x), 1.0) != digest_of(lambda x: lax.sin(x), np.float32(1))


def test_identity_of_inner_programs_changes_the_digest():
    """Lowering emits one function for a shared program, and two for two equal programs."""
    inner = jit(lambda x: lax.cos(x))
    closed = make_olympuspr(lambda x: lax.add(inner(x), inner(lax.sin(x))))(X)
    calls = [each for each in closed.eqns if each.primitive.name == "jit"]
    assert len({id(each.params["jaxpr"]) for each in calls}) == 1
    together = form_of(closed)
    called = calls[1].params["jaxpr"]
    copied = ClosedOlympuspr(called.jaxpr, called.consts)
    calls[1].params = {**calls[1].params, "jaxpr": copied}
    assert form_of(closed) != together
    calls[1].params = {**calls[1].params, "jaxpr": called}
    assert form_of(closed) == together


def form_of(closed):
    form = program_digest._CanonicalForm()
    form.add_closed(closed)
    return form.parts


def test_equal_digests_mean_equal_modules(devices):
    """All samples of the instruction set: the same digest only with the same module."""
    modules, count = {}, 0
    placement = on_one_device(devices[0], False)
    for case in cases():
        with case.context():
            program, _ = trace_call(
                rename(lambda *args, case=case: case.primitive.bind(*args, **dict(case.params))),
                JitOptions(),
                case.args,
                {},
            )
            digest = program_digest.program_digest(program, JitOptions(), placement)
            if digest is None:
                continue
            count += 1
            lowered = lower(program.closed, name="f", platforms=("cpu",), placement=placement)
            code = mlir.bytecode_without_locations(lowered.module)
            assert modules.setdefault(digest, code) == code, case
    assert count > 300


# ---- what has no digest ----


def test_programs_without_a_stable_form(digest_of, mesh, devices):
    own = Primitive("own")
    own.def_abstract_eval(lambda x: x)
    over_mesh = NamedSharding(mesh, PartitionSpec("x"))
    everywhere = device_put(X, NamedSharding(mesh, PartitionSpec()))
    for function in (
        lambda x: pure_callback(np.sin, x, x),
        lambda x: own.bind(x),
        lambda x: with_sharding_constraint(x, over_mesh),
        lambda x: lax.add(x, everywhere),
    ):
        assert digest_of(function, X) is None
    placed = device_put(np.ones((4, 4), np.float32), over_mesh)
    program, _ = trace_call(base, JitOptions(), (placed,), {})
    placement = resolve_placement(JitOptions(), program, [placed.sharding])
    assert digest_of(base, np.ones((4, 4), np.float32), placement=placement) is None


def test_functions_without_a_module_have_no_digest(digest_of):
    """Functions that `exec` defines without a `__name__` have no module."""
    namespace = {"lax": lax}
    exec("def shifted(x):\n    return lax.sin(x)\n", namespace)
    assert namespace["shifted"].__module__ is None
    named = lax.composite(lambda x, kept: lax.sin(x), "named")
    for own in (namespace["shifted"], type("Own", (), {"__module__": None})()):
        assert digest_of(lambda x, own=own: named(x, kept=own), X) is None


@pytest.mark.parametrize(
    "flag",
    [
        config_states.log_compiles,
        config_cache_flags.compilation_cache_check_contents,
        config_cache_flags.compilation_cache_include_metadata_in_key,
    ],
    ids=lambda flag: flag.name,
)
def test_programs_are_lowered_if_flag_observes_lowering(digest_of, flag):
    assert digest_of(base, X) is not None
    flag.update(True)
    try:
        assert digest_of(base, X) is None
    finally:
        flag.update(False)


# ---- sources ----


def test_edited_source_files_change_the_digest(tmp_path, monkeypatch):
    path = tmp_path / "some_package" / "rules" / "file.py"
    path.parent.mkdir(parents=True)
    (tmp_path / "some_package" / "__init__.py").touch()
    path.write_text("a = 1\n")
    monkeypatch.syspath_prepend(tmp_path)

    def described():
        sources.source_files.cache_clear()
        return sources.source_files(("some_package",))

    first, times = described(), path.stat()
    assert described() == first
    path.write_text("a = 11\n")  # another size at the same time
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    longer = described()
    path.write_text("a = 2\n")  # the same size at another time
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    later = described()
    path.rename(path.with_name("other.py"))
    assert len({first, longer, later, described()}) == 4
    sources.source_files.cache_clear()


def test_packages_with_primitives_or_lowering_are_digested():
    declaring = set()
    for name in sources.OLYMPUS_PACKAGES:
        spec = importlib.util.find_spec(name)
        for folder in [] if spec is None else spec.submodule_search_locations:
            for path in pathlib.Path(folder).rglob("*.py"):
                text = path.read_text("utf-8")
                if re.search(r"\b(instruction|add_to_instruction_set)\(", text):
                    declaring.add(name)
                if name == "olympus_xla":
                    for node in ast.walk(ast.parse(text)):
                        if isinstance(node, ast.ImportFrom) and not node.level:
                            declaring.add(node.module.partition(".")[0])
    assert {each for each in declaring if each.startswith("olympus")} <= set(
        program_digest._PACKAGES
    )


# ---- other processes ----

PROGRAM = """
import sys
import numpy as np
from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_xla import jit
from olympus_xla.compiling.compiler import compiled_programs
{before}
def f(x):
    table = np.linspace(0, 1, 1000, dtype=np.float32)
    spread = lax.reduce_sum(lax.mul(lax.sin(x), 2.0), (0,))
    return lax.add(spread, lax.reduce_sum(table, (0,))), linalg.cholesky(x)
x = np.array([[2, 1], [1, 3]], np.float32)
print(*(np.asarray(each).tobytes().hex() for each in jit(f)(x)))
print(compiled_programs[-1].from_disk, "jaxlib.mlir.ir" in sys.modules)
"""


def test_a_second_process_needs_no_mlir(run_python, tmp_path):
    place = {"OLYMPUS_CACHE_DIR": os.fspath(tmp_path)}
    first, second = (
        run_python(PROGRAM.format(before=""), PYTHONHASHSEED=seed, **place).splitlines()
        for seed in ("1", "2")
    )
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("False True", "True False")


OTHER_RULES = (
    "lowering_rules[lax.sin_p] = cosine",
    "define_for_platform(lax.sin_p, 'cpu', cosine)",
    "lowering_rules[lax.sin_p] = lowering_rules[lax.cos_p]",
)


def test_third_party_rules_are_not_indexed(run_python, tmp_path):
    def run(before):
        lines = run_python(PROGRAM.format(before=before), OLYMPUS_CACHE_DIR=os.fspath(tmp_path))
        values, origin = lines.splitlines()
        return np.frombuffer(bytes.fromhex(values.split()[0]), np.float32), origin

    x = np.array([[2, 1], [1, 3]], np.float32)
    table = np.linspace(0, 1, 1000, dtype=np.float32).sum()
    sines, cosines = (2 * function(x).sum(0) + table for function in (np.sin, np.cos))
    np.testing.assert_allclose(run("")[0], sines, rtol=1e-5)
    for rule in OTHER_RULES:
        before = f"""
from olympus_xla.compiling.lowering.tables import define_for_platform, lower_with, lowering_rules
cosine = lower_with(lambda x, **params: lax.cos(x))
{rule}
"""
        np.testing.assert_allclose(run(before)[0], cosines, rtol=1e-5)
    again, origin = run("")
    np.testing.assert_allclose(again, sines, rtol=1e-5)
    assert origin == "True False"


# ---- the index ----


def call(function=base):
    """Calls a function anew. Returns the result, and whether lowering was spared."""
    clear_caches()
    lowered = []
    original = program_executables.program_lowering.lower

    def noted(*args, **kwargs):
        lowered.append(args)
        return original(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("olympus_xla.compiling.program_lowering.lower", noted)
        result = np.asarray(jit(function)(X))
    return result, not lowered


def index(folder):
    return sorted((folder / "known").glob("*-cache"))


def test_an_executable_is_found_without_lowering(folder):
    (first, spared), (second, spared_again) = call(), call()
    assert (spared, spared_again) == (False, True)
    np.testing.assert_array_equal(first, second)
    assert compiled_programs[-1].from_disk
    assert len(index(folder)) == 1


def test_executable_that_was_removed_is_compiled_again(folder):
    call()
    for path in (folder / "executables").glob("*-cache"):
        path.unlink()
    assert not call()[1]
    assert call()[1]


@pytest.mark.parametrize("place", ["known", "executables"])
def test_damaged_files_are_detected(folder, place):
    expected, _ = call()
    (path,) = (folder / place).glob("*-cache")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.warns(UserWarning, match="reading"):
        found, spared = call()
    assert not spared
    np.testing.assert_array_equal(found, expected)
    assert call()[1]


def test_each_process_is_warned(folder):
    def summed(x):
        return lax.reduce_sum(x, (0, 1))

    for _ in range(2):
        clear_caches()
        with pytest.warns(UserWarning, match="donated buffers"):
            jit(summed, donate_argnums=0)(device_put(X))


def test_donated_operands_are_deleted(folder):
    for _ in range(2):
        clear_caches()
        x = device_put(X)
        np.testing.assert_allclose(jit(lambda x: lax.sin(x), donate_argnums=0)(x), np.sin(X), 1e-6)
        assert x.is_deleted()


def test_unused_operands_and_constants(folder):
    table = np.arange(1000, dtype=np.float32)

    def function(x, unused, y):
        return lax.add(lax.reduce_sum(table, (0,)), lax.add(x, y))

    for _ in range(2):
        clear_caches()
        result = jit(function)(X, np.ones(3), X)
        np.testing.assert_allclose(result, 2 * X + table.sum(), rtol=1e-6)
    assert compiled_programs[-1].from_disk


def test_stages_still_show_the_module(folder):
    for _ in range(2):
        clear_caches()
        function = jit(base)
        function(X)
        assert "stablehlo.sine" in function.lower(X).as_text()
        assert "sine" in function.lower(X).compile().as_text()


def test_programs_may_hold_functions_without_a_module(digest_of):
    function = eval("lambda a, b: a + b", {})  # such functions have no `__module__`
    assert function.__module__ is None
    digest_of(lambda x: lax.reduce(x, np.float32(0), function, (0,)), X)

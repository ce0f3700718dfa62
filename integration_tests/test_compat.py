# SPDX-License-Identifier: Apache-2.0
"""``import jax`` means OLYMPUS under `olympus.compat`, and JAX itself is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

IDENTITIES = """
import importlib.metadata, importlib.util, sys
import jax, jax.numpy as jnp, jax.core, jax.extend.core, jax._src.core
from jax.interpreters import ad, batching, mlir, partial_eval, xla
import olympus, olympus.numpy

assert jax is olympus and jnp is olympus.numpy and jax.numpy is jnp
assert sys.modules["jax.lax"] is olympus.lax
assert sys.modules["jax.tree_util"] is jax.tree_util
assert jnp.__name__ == "jax.numpy"
assert jax.__version__ == "0.10.2" and jax.__version_info__ == (0, 10, 2)
assert importlib.metadata.version("jax") == "0.10.2"
assert importlib.util.find_spec("jax") is not None
assert importlib.util.find_spec("jax.numpy") is not None
assert jax.make_jaxpr is olympus.make_olympuspr
assert jax.extend.core.Jaxpr is olympus.extend.core.Olympuspr
assert jax._src.core.Tracer is jax.core.Tracer
assert isinstance(jnp.ones(3), jax.Array)
jax.config.update("jax_enable_x64", True)
assert jnp.ones(3).dtype == "float64" and jax.config.jax_enable_x64
print("fine")
"""


OUT_OF_BOUNDS = (
    "out-of-bounds indexing for array of shape (2,): index 7 is out of bounds for axis 0 with "
    "size 2."
)
LACKING = "AttributeError module"
PRIVATE = (
    "ModuleNotFoundError OLYMPUS has no module 'jax._src.nothing': of JAX's private modules, "
    "OLYMPUS provides only the names that libraries are known to use"
)


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def in_front(folder: Path) -> str:
    """The search path of modules with one more folder."""
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))


def run_compat(code: str, **environment: str) -> str:
    done = run("-m", "olympus.compat", "-c", code, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_jax_modules_are_olympus_modules() -> None:
    assert run_compat(IDENTITIES) == "fine"


def test_programs_and_modules_get_their_arguments(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys, jax\nimport sibling\nprint(sys.argv[1:], __name__)")
    (tmp_path / "sibling.py").write_text("")
    done = run("-m", "olympus.compat", str(program), "-x", "1")
    assert done.stdout.strip() == "['-x', '1'] __main__", done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "olympus.compat", "-m", "program", "-x", "1"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.stdout.strip() == "['-x', '1'] __main__", done.stderr


def test_child_processes_import_olympus_as_jax() -> None:
    child = "import jax.numpy, olympus; print(jax is olympus, jax.__version__)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    assert run_compat(code) == "True 0.10.2"


# As the workers of pytest-xdist and of multiprocessing do.
WORKER = "import sys; sys.path[:] = eval(sys.argv[1]); import jax, olympus; print(jax is olympus)"


def test_workers_take_over_paths() -> None:
    command = f"[sys.executable, '-c', {WORKER!r}, repr(sys.path)]"
    assert run_compat(f"import subprocess, sys; subprocess.run({command})") == "True"


# What libraries with flags and custom calls of their own use.
DECLARATIONS = """
import jax, jax.numpy as jnp
from jax._src import config, dispatch
from jax._src.ad_util import add_any_p, add_jaxvals_p
from jax._src.errors import JAXTypeError
from jax._src.export.shape_poly import InconclusiveDimensionOperation, _DimExpr
from jax._src.interpreters import mlir
from jax._src.mesh import BaseMesh, empty_concrete_mesh
from jax.extend.core import Primitive

checks = config.bool_state("jax_example_checks", False, "A flag of a library.")
with checks(True):
    assert checks.value and jax.config.jax_example_checks
level = config.enum_state("jax_example_level", ["low", "high"], "low", help="Another.")
try:
    jax.config.update("jax_example_level", "middle")
except ValueError:
    assert level.value == "low"

assert isinstance(jax.export.symbolic_shape("b")[0], _DimExpr)
assert empty_concrete_mesh.empty and isinstance(empty_concrete_mesh, BaseMesh)
assert dispatch.jaxpr_has_primitive(jax.make_jaxpr(jax.jit(jnp.sin))(1.0).jaxpr, "sin")

library_p = Primitive("library")
library_p.def_abstract_eval(lambda x: x)

def lowered(ctx, x):
    types = [mlir.aval_to_ir_type(ctx.module_context, ctx.avals_out[0])]
    options = {"backend_config": "options", "operand_layouts": [(0,)], "result_layouts": [(0,)]}
    attributes = {"library": mlir.ir.StringAttr.get("name")}
    return mlir.custom_call(
        "target", result_types=types, operands=[x], extra_attributes=attributes,
        operand_output_aliases={0: 0}, **options
    ).results

mlir.register_lowering(library_p, lowered)
text = jax.jit(library_p.bind).lower(jnp.ones(3)).as_text()
print(next(line for line in text.splitlines() if "custom_call" in line))
"""


def test_libraries_declare_flags_and_build_custom_calls() -> None:
    line = run_compat(DECLARATIONS)  # as JAX 0.10.2 writes it
    for part in (
        "@target(%arg0) {api_version = 2 : i32",
        'backend_config = "options"',
        'library = "name"',
        "operand_layouts = [dense<0> : tensor<1xindex>]",
        "#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0",
    ):
        assert part in line


# What released libraries import, and what they do with it.
PRIVATE_IMPORTS = """
import numpy as np
import jax, jax.numpy as jnp
from jax._src import ad_checkpoint, checkify
from jax._src.ad_util import Zero, p2tz
from jax._src.core import MemorySpace, new_ref, physical_aval, safe_map, safe_zip
from jax._src.interpreters.batching import is_vmappable
from jax._src.lib import _jax, jaxlib_extension_version, xla_client
from jax._src.mesh import get_concrete_mesh, thread_resources
from jax._src.named_sharding import UNSPECIFIED
from jax._src.nn.functions import glu
from jax._src.nn.initializers import _complex_truncated_normal, _complex_uniform
from jax._src.numpy.array_methods import _IndexUpdateHelper, _IndexUpdateRef
from jax._src.numpy.index_tricks import CClass, RClass
from jax._src.numpy.lax_numpy import sum
from jax._src.numpy.ufuncs import ufunc
from jax._src.numpy.util import promote_dtypes_complex, promote_dtypes_inexact
from jax._src.numpy.vectorize import _apply_excluded, _check_output_dims
from jax._src.numpy.vectorize import _parse_gufunc_signature, _parse_input_dimensions
from jax._src.pjit import auto_axes
from jax._src.random import Shape
from jax._src.scipy.special import gammaln, logsumexp
from jax._src.sharding_impls import UNSPECIFIED as unspecified, UnspecifiedValue
from jax._src.source_info_util import Frame, user_frame
from jax._src.state import AbstractRef
from jax._src.typing import Array
from jax._src.xla_bridge import devices
from jax.core import trace_ctx
from jax.errors import JaxprTypeError
from jax.experimental.array_serialization.serialization import async_serialize
from jax.experimental.ode import api_util

assert isinstance(jax.jit(abs), _jax.PjitFunction) and isinstance(UNSPECIFIED, UnspecifiedValue)
assert unspecified is UNSPECIFIED and Array is jax.Array and not is_vmappable(1.0)
assert type(p2tz(1.0)) is Zero and p2tz(1).aval.dtype == jax.float0
assert isinstance(jnp.c_, CClass) and isinstance(jnp.zeros(2).at[0], _IndexUpdateRef)
assert [x.dtype for x in promote_dtypes_complex(jnp.float16(1), 2)] == ["complex64", "complex64"]

ins, outs = _parse_gufunc_signature("(n,m),(m)->(n)")
assert (ins, outs) == ([("n", "m"), ("m",)], [("n",)])
loops, sizes = _parse_input_dimensions((np.ones((4, 1, 2, 3)), np.ones((5, 3))), ins, "")
assert (loops, sizes) == ((4, 5), {"n": 2, "m": 3})
fun, args, kwargs = _apply_excluded(
    lambda *args, **kwargs: (args, kwargs), {1, "k"}, (0, 1, 2), {"k": 3, "l": 4}
)
assert (args, kwargs) == ([0, 2], {"l": 4}) and fun(5, 6, l=7) == ((5, 1, 6), {"l": 7, "k": 3})
checked = _check_output_dims(lambda x: x, sizes, outs)
assert checked(np.ones(2)).shape == (2,)
try:
    checked(np.ones(3))
except ValueError as error:
    print(error)
"""


def test_private_names_that_libraries_import() -> None:
    assert "inconsistent size for core dimension 'n'" in run_compat(PRIVATE_IMPORTS)


# Helpers that interpreters of programs and libraries of primitives take from private modules.
PRIVATE_HELPERS = """
import numpy as np
import jax, jax.numpy as jnp
from jax._src import api, core
from jax._src.api_util import resolve_kwargs
from jax._src.interpreters import ad, batching, partial_eval as pe
from jax._src.lax import lax
from jax._src.lib.mlir.dialects import hlo
from jax._src.numpy.util import check_arraylike, ensure_arraylike, promote_args_inexact
from jax._src.scipy.sparse.linalg import _mul, _vdot_real_tree
from jax._src.state.discharge import discharge_state
from jax._src.state.primitives import ref_get, ref_set
from jax._src.util import HashableFunction, canonicalize_axis, merge_lists, partition_list
from jax._src.util import safe_map, split_list, toposort, unzip2, weakref_lru_cache

assert unzip2([(1, 2), (3, 4)]) == ((1, 3), (2, 4))
assert split_list([1, 2, 3, 4], [1, 2]) == [[1], [2, 3], [4]]
flags = [True, False, True]
assert partition_list(flags, "abc") == (["b"], ["a", "c"])
assert merge_lists(flags, *partition_list(flags, "abc")) == list("abc")
assert canonicalize_axis(-1, 3) == 2
assert HashableFunction(lambda: 1, (2,)) != HashableFunction(lambda: 2, (3,))
assert weakref_lru_cache(lambda x, y: y)(abs, 3) == 3
assert resolve_kwargs(lambda x, y=2: None, (1,), {"y": 3}) == (1, 3)
assert hlo.AddOp.OPERATION_NAME == "stablehlo.add"

# A program in two parts, with tangents, of three examples, and backward
program = jax.make_jaxpr(lambda x, y: (jnp.sin(x) * y, x + 1.0))(1.0, 2.0)
known, rest, unknown, residuals = pe.partial_eval_jaxpr_nounits(program, [False, True], False)
one, sine = core.eval_jaxpr(known.jaxpr, known.consts, 1.0)
assert unknown == [True, False] and one == 2 and len(residuals) == 1
np.testing.assert_allclose(core.eval_jaxpr(rest.jaxpr, rest.consts, sine, 2.0), [2 * np.sin(1.0)])
pushed, nonzero = ad.jvp_jaxpr(program, [True, False], False)
results = core.eval_jaxpr(pushed.jaxpr, pushed.consts, 1.0, 2.0, 1.0)
np.testing.assert_allclose(results[2:], [2 * np.cos(1.0), 1.0], rtol=1e-6)
axis = batching.AxisData("i", 3, None, None)
batched, places = batching.batch_jaxpr(program, axis, [True, False], False)
assert places == [True, True] and batched.out_avals[0].shape == (3,)
size = jax.vmap(lambda _: core.get_axis_env().axis_size("i"), axis_name="i")(jnp.zeros(3))
assert size.tolist() == [3, 3, 3]
linear = jax.make_jaxpr(lambda x: 3.0 * x)(1.0)
undefined = ad.UndefinedPrimal(linear.in_avals[0])
assert ad.backward_pass(linear.jaxpr, False, linear.consts, [undefined], [2.0]) == [6.0]
assert core.typecheck(core.ShapedArray((2,), np.dtype("float32")), jnp.zeros(2))

# A primitive by its rules of shapes and dtypes, as libraries declare them
half_p = lax.unop(lambda x, **_: x.dtype, lax._float, "half")
assert half_p.abstract_eval(core.ShapedArray((2,), np.dtype("float32")))[0].shape == (2,)
assert lax._const(jnp.float16(1), 3).dtype == "float16" and lax._one(jnp.zeros(2)) == 1
assert [x.dtype for x in promote_args_inexact("f", 1, jnp.int8(2))] == ["float32", "float32"]
assert ensure_arraylike("f", 1.0).weak_type

ref = jax.new_ref(jnp.zeros(2))
ref_set(ref, 0, 5.0)
assert ref_get(ref).tolist() == [5, 0]
writes = jax.make_jaxpr(lambda r: r.__setitem__(0, 1.0))(ref)
assert discharge_state(writes).out_avals[0].shape == (2,)
tree = {"a": jnp.array([1.0, 2.0]), "b": jnp.float32(3)}
assert _vdot_real_tree(tree, _mul(2.0, tree)) == 28
_, place = batching.reducer_batcher(lax.reduce_max_p, axis, [jnp.ones((2, 3, 4))], [1], (0, 1))
assert place == 0
basis = api._std_basis({"a": jnp.ones(2), "b": 1.0})
assert basis["a"].tolist() == [[1, 0], [0, 1], [0, 0]] and basis["b"].tolist() == [0, 0, 1]
try:
    check_arraylike("f", [1])
except TypeError as error:
    print(error)
"""


def test_helpers_of_interpreters_in_private_modules() -> None:
    assert "f requires ndarray or scalar arguments" in run_compat(PRIVATE_HELPERS)


EVERY_PRIVATE_NAME = """
import importlib
from olympus.compat.tables import NAMES, WHOLE_MODULES
for module, names in NAMES.items():
    found = importlib.import_module(f"jax._src.{module}")
    for name in names:
        getattr(found, name)
print(set(NAMES) <= set(WHOLE_MODULES))
"""


def test_every_private_name_exists() -> None:
    assert run_compat(EVERY_PRIVATE_NAME) == "True"


PYTREE_NODES = """
import collections, jax
from jax._src.tree_util import _registry
class Box:
    def __init__(self, *c): self.c = c
jax.tree_util.register_pytree_node(Box, lambda b: (b.c, "aux"), lambda aux, c: Box(*c, aux))
maps = {"b": 1, "a": None}, collections.OrderedDict(x=1), collections.defaultdict(int, y=2)
for node in (*maps, [1, (2,)], (3, [4])):
    entry = _registry[type(node)]
    children, aux = entry.to_iter(node)
    assert entry.from_iter(aux, children) == node, node
e = _registry[Box]
children, aux = e.to_iter(Box(1, 2))
assert (list(children), aux) == ([1, 2], "aux") and float not in _registry
print(e.from_iter(aux, (5, None)).c)
"""


def test_pytree_registry_entries_flatten_and_unflatten() -> None:
    assert run_compat(PYTREE_NODES) == "(5, None, 'aux')"


THREAD_RESOURCES = """
import warnings
import jax
from jax.interpreters import pxla

warnings.simplefilter("ignore", DeprecationWarning)
mesh = jax.make_mesh((1,), ("x",))
assert pxla.thread_resources.env.physical_mesh.empty
with mesh:
    env = pxla.thread_resources.env
    print(env.physical_mesh == mesh, dict(env.shape), env.resource_axes)
with jax.set_mesh(mesh):
    print(pxla.thread_resources.env.physical_mesh.empty)
"""


def test_entered_mesh_is_in_thread_resources() -> None:
    assert run_compat(THREAD_RESOURCES).splitlines() == ["True {'x': 1} {'x'}", "True"]


def test_missing_names_are_reported() -> None:
    code = """
import jax, jax.numpy as jnp
for action in ("import jax.nothing", "from jax import nothing", "from jax._src import nothing",
               "jax.nothing", "jnp.nothing", "import jax._src.nothing"):
    try:
        exec(action)
    except (ImportError, AttributeError) as error:
        print(type(error).__name__, str(error).partition(" (")[0])
"""
    assert run_compat(code).splitlines() == [
        "ModuleNotFoundError OLYMPUS has no module 'jax.nothing'",
        "ImportError cannot import name 'nothing' from 'olympus'",
        "ImportError cannot import name 'nothing' from 'jax._src'",
        f"{LACKING} 'olympus' has no attribute 'nothing': OLYMPUS does not have it",
        f"{LACKING} 'olympus.numpy' has no attribute 'nothing': OLYMPUS does not have it",
        PRIVATE,
    ]


def test_environment_variables_of_jax_are_read() -> None:
    code = "import jax; print(jax.config.jax_enable_x64, jax.config.olympus_debug_nans)"
    assert run_compat(code, JAX_ENABLE_X64="1", JAX_DEBUG_NANS="true") == "True True"
    assert run_compat(code, JAX_ENABLE_X64="1", OLYMPUS_ENABLE_X64="0") == "False False"


def test_log_records_reach_jax_loggers() -> None:
    code = """
import logging, jax
logging.getLogger("jax").addHandler(logging.StreamHandler(__import__("sys").stdout))
logging.getLogger("olympus.compilation").error("heard")
"""
    assert run_compat(code) == "heard"


def test_imported_jax_is_refused(tmp_path: Path) -> None:
    (tmp_path / "jax.py").write_text("__version__ = '0.10.2'")
    path = in_front(tmp_path)
    done = run("-c", "import jax, olympus.compat", PYTHONPATH=path)
    assert "JAX is imported in this process" in done.stderr
    late = "import olympus.compat, jax; olympus.compat.install()"
    done = run("-c", late, PYTHONPATH=path)
    assert "call `olympus.compat.install()` first" in done.stderr


def test_installed_jax_is_not_imported_afterwards(tmp_path: Path) -> None:
    (tmp_path / "jax.py").write_text("raise RuntimeError('imported')")
    code = "import jax, jax.numpy; print(jax.__spec__.name)"
    assert run_compat(code, PYTHONPATH=in_front(tmp_path)) == "olympus"


def test_libraries_read_and_define_rules() -> None:
    code = """
import jax, jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

double_p = Primitive("double")
double_p.def_impl(lambda x: x * 2)
double_p.def_abstract_eval(lambda x: x)
mlir.register_lowering(double_p, mlir.lower_fun(lambda x: x * 2, multiple_results=False))
ad.deflinear(double_p, lambda ct: [double_p.bind(ct)])
batching.primitive_batchers[double_p] = lambda args, dims: (double_p.bind(*args), dims[0])
assert double_p in batching.primitive_batchers and double_p in ad.primitive_jvps
x = jnp.arange(3.0)
print(double_p.bind(x), jax.jit(double_p.bind)(x), jax.vmap(double_p.bind)(x))
print(jax.grad(lambda x: double_p.bind(x) ** 2)(3.0))
(dims,) = batching.primitive_batchers[jax.lax.sin_p]((x,), (0,))[1:]
print(dims, jax.make_jaxpr(double_p.bind)(1.0))
"""
    assert run_compat(code).splitlines() == [
        "[0. 2. 4.] [0. 2. 4.] [0. 2. 4.]",
        "24.0",
        "0 { lambda ; a:f32[]. let b:f32[] = double a in (b,) }",
    ]


def test_checkify_errors_are_results_of_compiled_functions() -> None:
    code = """
import jax, jax.numpy as jnp
from jax.experimental import checkify

def f(x, i):
    checkify.check(x[0] > 0, "{} is not positive", x[0])
    return jnp.log(x)[i]

x = jnp.array([1.0, 2.0])
checked = jax.jit(checkify.checkify(jax.jit(f), errors=checkify.all_checks))
print(checked(x, 0)[0].get(), "|", checked(-x, 0)[0].get(), "|", checked(x, 7)[0].get())
try:
    jax.jit(f)(x, 0)
except ValueError as error:
    print("not functionalized" in str(error))
"""
    assert run_compat(code).splitlines() == [
        f"None | -1.0 is not positive (`check` failed) | {OUT_OF_BOUNDS} ",
        "True",
    ]


def test_rules_build_operations_with_the_generated_builders() -> None:
    code = """
import jax, jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir.dialects import stablehlo

triple_p = Primitive("triple")
triple_p.def_abstract_eval(lambda x: x)

def lowering(context, x):
    three = mlir.ir_constant(jnp.full(context.avals_in[0].shape, 3.0))
    return [stablehlo.MulOp(x, three).result]

mlir.register_lowering(triple_p, lowering)
print(jax.jit(triple_p.bind)(jnp.arange(3.0)), triple_p.bind(2.0))
"""
    assert run_compat(code) == "[0. 3. 6.] 6.0"


PRIVATE_NAMES = """
import inspect, numpy as np
import jax, jax.numpy as jnp
from jax._src import core
from jax._src.api_util import infer_argnums_and_argnames
from jax._src.literals import TypedFloat, TypedInt
from jax._src.public_test_util import check_close
from jax._src.random import threefry2x32

signature = inspect.signature(lambda x, y, *rest, z=1: x)
assert infer_argnums_and_argnames(signature, None, ("x", "z")) == ((0,), ("x", "z"))
assert infer_argnums_and_argnames(signature, 1, None) == ((1,), ("y",))

check_close({"a": jnp.ones(2)}, {"a": np.ones(2) + 1e-7})
for wrong in (1.01, np.ones(3)):
    try:
        check_close(jnp.ones(2), wrong)
    except AssertionError:
        continue
    raise SystemExit("that is not close")
check_close(jnp.ones(2), np.full(2, 1.01), rtol={np.float32: 0.1})

assert repr(jnp.asarray(TypedFloat(1.5, np.dtype("float32")))) == (
    "Array(1.5, dtype=float32, weak_type=True)"
)
assert jax.jit(lambda x: x + TypedInt(2, np.dtype("int32")))(1.0).dtype == "float32"

key = threefry2x32.threefry_seed(jnp.array(7))
assert (key == jax.random.PRNGKey(7)).all()
assert (threefry2x32.threefry_split(key, (2,)) == jax.random.split(key)).all()
bits = threefry2x32.threefry_random_bits(key, 32, (3,))
assert (bits == jax.random.bits(key, (3,))).all()

outside = core.trace_ctx.trace
seen = []
jax.jit(lambda x: seen.append(core.trace_ctx.trace) or core.full_lower(x))(1.0)
assert seen[0] is not outside and core.trace_ctx.trace is outside
print("fine")
"""


def test_private_names_that_libraries_use() -> None:
    assert run_compat(PRIVATE_NAMES) == "fine"


RESULTS_OF_UNIQUE = """
import jax.numpy as jnp
from jax._src.numpy import setops

x = jnp.array([2, 1, 2])
assert isinstance(jnp.unique_all(x), setops._UniqueAllResult)
assert isinstance(jnp.unique_counts(x), setops._UniqueCountsResult)
assert isinstance(jnp.unique_inverse(x), setops._UniqueInverseResult)
print("fine")
"""


def test_classes_of_the_results_of_unique() -> None:
    assert run_compat(RESULTS_OF_UNIQUE) == "fine"


PRIVATE_LOOKUPS = """
import jax
import jax.numpy as jnp
import jax.experimental.colocated_python as colocated
from jax.experimental.colocated_python import func, serialization
import jax.experimental.colocated_python.serialization as again

assert again is serialization is colocated.serialization
assert serialization.xb.local_devices() == jax.local_devices()
assert jax._src.distributed.global_state.client is None
assert jax._src.distributed.global_state.process_id == 0
assert not jax.distributed.is_initialized()
files = jax._src.traceback_util._exclude_paths
files.append(__name__)
files.remove(__name__)
print("fine")
"""


def test_private_names_found_by_getattr() -> None:
    assert run_compat(PRIVATE_LOOKUPS) == "fine"


INTERPRETER = """
import copy, pickle
import jax, jax.numpy as jnp, jax.extend
from jax._src import source_info_util

def run(closed, *args):
    values = dict(zip(closed.jaxpr.invars, args))
    read = lambda atom: atom.val if isinstance(atom, jax.extend.core.Literal) else values[atom]
    for equation in closed.eqns:
        source, names = equation.source_info, source_info_util.current_name_stack()
        with (
            source_info_util.user_context(source.traceback, name_stack=names + source.name_stack),
            equation.ctx.manager,
        ):
            results = equation.primitive.bind(*map(read, equation.invars), **equation.params)
        several = equation.primitive.multiple_results
        values.update(zip(equation.outvars, results if several else [results]))
    return list(map(read, closed.jaxpr.outvars))

def f(x):
    with jax.named_scope("inner"):
        return jnp.sin(x) + jax.jit(jnp.cos)(x)

closed = jax.make_jaxpr(f)(2.0)
assert run(closed, 3.0) == [f(3.0)]
again = jax.make_jaxpr(lambda x: run(closed, x))(2.0)
for old, new in zip(closed.eqns, again.eqns, strict=True):
    assert str(new.source_info.name_stack) == "inner"
    frames = [source_info_util.user_frame(e.source_info.traceback) for e in (old, new)]
    assert frames[0] == frames[1] and frames[0].function_name == "f"
    assert frames[0] == next(iter(source_info_util.user_frames(old.source_info.traceback)))
    assert copy.deepcopy(old.ctx) is pickle.loads(pickle.dumps(old.ctx)) is old.ctx
built = jax.core.new_jaxpr_eqn(
    old.invars, old.outvars, old.primitive, old.params, old.effects, old.source_info
)
with built.ctx.manager, built.ctx.manager:
    print(source_info_util.user_frame(None))
"""


def test_interpreters_enter_context_and_source_of_equations() -> None:
    assert run_compat(INTERPRETER) == "None"


MESSAGES = """
import jax, jax.numpy as jnp, numpy as np

def said(function):
    try:
        function()
    except Exception as error:
        return str(error)

assert "is not a valid JAX type" in said(lambda: jax.grad(jnp.sin)("text"))
assert "JAX arrays are immutable" in said(lambda: jnp.ones(3).__setitem__(0, 1))
assert "arguments to jax.jvp must be tuples" in said(lambda: jax.jvp(jnp.sin, 1.0, 1.0))
assert "jax_enable_x64" in said(lambda: jnp.asarray(2**40))
room = np.zeros(16)
wide = room[-room.ctypes.data % 64 // 8 :][:3]  # aligned, as sharing memory needs
assert "flag jax_enable_x64." in said(lambda: jax.dlpack.from_dlpack(wide, copy=False))
"""


def test_messages_name_jax():
    run_compat(MESSAGES)


SUITE = """
import unittest, warnings
import jax, jax.numpy as jnp, numpy as np
from jax._src import test_util as jtu

class Sums(jtu.JaxTestCase):
    def test_values(self):
        sample = jtu.rand_default(self.rng())
        args = lambda: [sample((2, 3), np.float32), sample(jtu.PYTHON_SCALAR_SHAPE, np.int32)]
        with jtu.strict_promotion_if_dtypes_match([np.float32]):
            self._CheckAgainstNumpy(lambda x, y: x + np.float32(y), jnp.add, args)
            self._CompileAndCheck(jnp.add, args)

    def test_wrong_values(self):
        with self.assertRaises(AssertionError):
            self.assertAllClose([jnp.float32(1)], [jnp.float32(1.001)])
        with self.assertRaises(AssertionError):
            self.assertArraysEqual(jnp.int32(1), jnp.float32(1))
        with self.assertRaisesRegex(ValueError, "config option jax_numpy_rank_promotion='raise'"):
            jnp.ones((2, 3)) + jnp.ones(3)
        with self.assertRaisesRegex(ValueError, "when jax_numpy_dtype_promotion=strict"):
            jnp.int32(1) + jnp.float32(1)
        with self.assertWarnsRegex(UserWarning, "set the jax_enable_x64 configuration option"):
            jnp.zeros(2, np.float64)

    def test_counts(self):
        f = jax.jit(lambda x: x + 1)
        self.assertCacheMisses(lambda: f(np.ones(2)), cpp=1, tracing=1, lowering=1)
        self.assertCacheMisses(lambda: f(np.ones(2)), cpp=0, tracing=0, lowering=0)
        with self.assertRaises(AssertionError), jtu.assert_num_jit_and_pmap_compilations(0):
            f(np.ones(3))

    def test_warnings(self):
        with self.assertWarnsRegex(UserWarning, "hel+o"):
            warnings.warn("hello")
        with self.assertRaises(AssertionError), self.assertWarns(UserWarning):
            pass
        with self.assertRaises(UserWarning), self.assertNoWarnings():
            warnings.warn("hello")

    @jtu.run_on_devices("tpu")
    def test_skipped(self):
        raise AssertionError

    @jtu.with_explicit_mesh((1,), ("x",))
    def test_mesh(self, mesh):
        self.assertEqual(jax.sharding.get_abstract_mesh().axis_names, mesh.axis_names)

@jtu.with_config(jax_enable_x64=True)
class Wide(jtu.JaxTestCase):
    def test_dtype(self):
        self.assertDtypesMatch(jnp.ones(2), np.ones(2))

suite = unittest.TestSuite(map(jtu.JaxTestLoader().loadTestsFromTestCase, [Sums, Wide]))
result = unittest.TextTestRunner().run(suite)
print(result.testsRun, len(result.skipped), [text for _, text in result.failures + result.errors])
"""


def test_jax_test_util_helpers() -> None:
    assert run_compat(SUITE).splitlines()[-1] == "7 1 []"


SAMPLES = """
import numpy as np
from jax._src import test_util as jtu

rng = np.random.RandomState(0)
assert np.isinf(jtu.rand_some_inf(rng)((50,), np.float32)).any()
assert np.isnan(jtu.rand_some_nan(rng)((50,), np.complex64)).any()
assert (jtu.rand_nonzero(rng)((50,), np.int8) != 0).all()
assert len(set(jtu.rand_unique_int(rng, 9)((9,), np.int32))) == 9
indices = jtu.rand_indices_unique_along_axis(rng)(5, (4, 3), 0, allow_negative=False)
assert all(len(set(column)) == 4 for column in indices.T)
assert type(jtu.rand_default(rng)(jtu.PYTHON_SCALAR_SHAPE, np.float32)) is float
cases = jtu.sample_product_testcases([dict(a=1, b=2), dict(a=3, b=4)], c=range(9))
assert len(cases) == 10 and all(case["b"] == case["a"] + 1 for case in cases)
assert len({tuple(case.values()) for case in cases}) == 10
grid = jtu.complex_plane_sample(np.complex64, 4, 3)
assert grid.shape == (9, 11) and np.isinf(grid.real[:, 0]).all() and grid[4, 5] == 0
from jax._src import config
assert config._read("jax_enable_x64") is False and "jax_enable_x64" in config.config_states
with config.config_states["jax_enable_x64"](True):
    assert config._read("jax_enable_x64") is True
assert jtu.tolerance(np.float32, {np.float16: 1.0}) == 1e-6
print(jtu.format_shape_dtype_string((2, 3), np.float32))
"""


def test_samplers_of_tests() -> None:
    assert run_compat(SAMPLES) == "float32[2,3]"


OPERATIONS = """
import unittest
import numpy as np
from jax import lax
from jax._src import lax_reference, test_util as jtu
from jax._src.internal_test_util import lax_test_util

records = {record.op: record for record in lax_test_util.lax_ops()}
assert all(hasattr(lax_reference, name) and hasattr(lax, name) for name in records)
assert records["nextafter"].dtypes == [np.float16, np.float32] and records["nextafter"].tol == 0
assert [r.dtypes for r in lax_test_util.lax_reduce_ops() if r.init_val == -np.inf] == [
    lax_test_util.float_dtypes
]
assert list(lax_test_util.all_bdims((2,), ())) == [(None, 0), (0, None), (0, 0), (1, None), (1, 0)]
parts = lax_test_util.args_slicer([np.arange(6).reshape(2, 3), 4.0], (1, None))
assert [np.asarray(part).tolist() for part in parts(2)] == [[2, 5], 4.0]

class Operations(jtu.JaxTestCase):
    def test_elementwise(self):
        for name in ("round", "div", "erf_inv", "betainc", "complex"):
            record = records[name]
            sample = record.rng_factory(self.rng())
            shapes = [(3, 4), (1, 4), (3, 1)][: record.nargs]
            args = lambda: [sample(shape, record.dtypes[-1]) for shape in shapes]
            found, expected = getattr(lax, name), getattr(lax_reference, name)
            self._CheckAgainstNumpy(expected, found, args, tol=1e-4)

    def test_arrays(self):
        sample = jtu.rand_small(self.rng())
        x, w = sample((1, 2, 5, 4), np.float32), sample((3, 2, 2, 2), np.float32)
        for name, *args in [
            ("conv", x, w, (2, 1), "SAME"),
            ("dot_general", x, x, (((3,), (3,)), ((1,), (1,)))),
            ("top_k", x, 2),
            ("sort_key_val", x, x + 1, 2),
            ("pad", x[0, 0], np.float32(9), [(1, 0, 2), (0, -1, 1)]),
            ("bitcast_convert_type", x, np.uint8),
        ]:
            expected = getattr(lax_reference, name)(*args)
            self.assertAllClose(expected, getattr(lax, name)(*args), rtol=1e-5)
        found = lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 1, 2), "SAME")
        window = (1, 1, 2, 2), (1, 1, 1, 2), "SAME", (1, 1, 1, 1)
        expected = lax_reference.reduce_window(x, np.float32(0), np.add, *window)
        self.assertAllClose(expected, found, rtol=1e-5)
        expected = lax_reference.reduce(x, np.float32(2), lambda x, y: np.maximum(x, y), (1, 2))
        self.assertAllClose(expected, np.maximum(x.max((1, 2)), np.float32(2)))

suite = jtu.JaxTestLoader().loadTestsFromTestCase(Operations)
result = unittest.TextTestRunner().run(suite)
print(result.testsRun, [text for _, text in result.failures + result.errors])
"""


def test_operations_are_compared_with_their_references() -> None:
    assert run_compat(OPERATIONS).splitlines()[-1] == "2 []"


SMALL_MODULES = """
import os, pathlib, types, warnings
import jax, numpy as np
from jax._src import config, deprecations, hardware_utils, op_shardings, path, xla_bridge
from jax._src.pallas import utils

def said(kind, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except kind as error:
        return str(error)

# The states of a deprecation
deprecations.register("old-use")
with warnings.catch_warnings(record=True) as recorded:
    warnings.simplefilter("always")
    deprecations.warn("old-use", "It is old.", stacklevel=1)
assert [(w.category, str(w.message)) for w in recorded] == [(DeprecationWarning, "It is old.")]
deprecations.accelerate("old-use")
assert deprecations.is_accelerated("old-use")
assert not deprecations.is_accelerated("jax-array-numpy-dtype")
assert said(TypeError, deprecations.warn, "old-use", "Gone.", 1, error_class=TypeError) == "Gone."
deprecations.unregister("old-use")
unknown = "deprecation_id='old-use' not registered."
assert said(ValueError, deprecations.is_accelerated, "old-use") == unknown
module = types.ModuleType("module")
module._deprecations = {"y": ("Use x.", 101), "z": ("There is no z.", None)}
module.__getattr__ = deprecations.deprecation_getattr("module", module._deprecations)
with warnings.catch_warnings(record=True) as recorded:
    warnings.simplefilter("always")
    assert module.y == 101
assert str(recorded[0].message) == "Use x." and recorded[0].filename == "<string>"
assert said(AttributeError, getattr, module, "z") == "There is no z."
assert said(AttributeError, getattr, module, "w") == "module 'module' has no attribute 'w'"
assert not deprecations.is_accelerated_attribute(module, "y")
deprecations.accelerate_getattr_deprecation(module, "y")
assert deprecations.is_accelerated_attribute(module, "y")

# Flags without overrides by threads
flag = config.bool_flag("jax_a_flag", True, help="A flag.")
jax.config.update("jax_a_flag", False)
assert flag.value is False and said(TypeError, flag, True)
assert config.enum_flag("jax_a_choice", "a", enum_values=["a", "b"], help="").value == "a"
assert config.int_flag("jax_a_number", 3, "A number.").value == 3
os.environ.update(A_TRUTH="0", A_WORD="zork", A_NUMBER="7")
assert config.bool_env("A_TRUTH", True) is False and config.bool_env("NO_TRUTH", True) is True
assert "'zork' for environment 'A_WORD'" in said(ValueError, config.bool_env, "A_WORD", True)
assert config.int_env("A_NUMBER", 4) == 7 and config.int_env("NO_NUMBER", 4) == 4
assert xla_bridge.num_cpu_devices.value == 4

# Shardings of XLA, and sizes of blocks
mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
split, whole = (
    jax.NamedSharding(mesh, jax.P(axis))._to_xla_hlo_sharding(2) for axis in ("x", None)
)
assert op_shardings.get_num_ways_dim_sharded(split) == ([4, 1], 1)
assert op_shardings.is_hlo_sharding_replicated(whole)
assert not op_shardings.are_hlo_shardings_equal(split, whole)
indices = op_shardings.op_sharding_to_indices(split, (8, 2), 4)
assert indices[1:3] == ((slice(2, 4), slice(None)), (slice(4, 6), slice(None)))
assert op_shardings.op_sharding_to_numpy_indices(whole, (8, 2), 4)[3] == (slice(None),) * 2
assert (utils.cdiv(7, 2), utils.align_to(7, 4), utils.next_power_of_2(5)) == (4, 8, 8)
assert utils.strides_from_shape((2, 3, 4)) == (12, 4, 1) and path.Path is pathlib.Path
assert hardware_utils.has_visible_nvidia_gpu() in (False, True)
print("fine")
"""


def test_small_private_modules() -> None:
    assert run_compat(SMALL_MODULES, JAX_NUM_CPU_DEVICES="4") == "fine"


PRINTED_IN_PARTS = """
import jax
from jax._src import core, pretty_printer as pp
from jax.extend.core import Primitive

program = jax.make_jaxpr(lambda x: jax.jit(lambda y: y * 2 + 1)(x) * 3.0)(1.0)
context, settings = core.JaxprPpContext(), core.JaxprPpSettings()
call, product = program.eqns
assert core.pp_jaxpr(program.jaxpr, context, settings).format() == str(program)
print(core.pp_eqn(product, context, settings).format())
operands = core.pp_vars(product.invars, context, separator=",")
name = core.pp_var(product.invars[0], context)
print(operands.format(), name.format(), core.pp_aval(program.in_avals[0], context))
print(core.pp_kv_pairs([("a", 1), ("b", (2,))], context, settings).format())
print(core.pp_jaxpr_eqn_range(program.jaxpr, 1, 2, core.JaxprPpContext(), settings).format())
print(core.pp_eqns(program.eqns[1:] * 2, context, settings).format())

def shown(eqn, context, settings):
    results = core.pp_vars(eqn.outvars, context, print_shapes=settings.print_shapes)
    name = pp.text("MINE", annotation="here" if settings.source_info else None)
    params = core.pp_kv_pairs(sorted(eqn.params.items()), context, settings)
    operands = core.pp_vars(eqn.invars, context)
    return pp.concat([results, pp.text(" <- "), name, params, pp.text(" ")]) + operands

mine_p = Primitive("mine")
mine_p.def_abstract_eval(lambda x, *, k: x)
core.pp_eqn_rules[mine_p] = shown
assert mine_p in core.pp_eqn_rules and core.pp_eqn_rules[mine_p] is shown
inner = jax.make_jaxpr(lambda x: mine_p.bind(x, k=3) * 2.0)(1.0)
print(inner)
print(inner.pretty_print(source_info=True).count("# here"))
print(inner.pretty_print(custom_pp_eqn_rules=False))
red = pp.color(pp.text("b"), foreground=pp.Color.RED, intensity=pp.Intensity.BRIGHT)
print((pp.text("a") + pp.nil() + pp.brk() + red).format(use_color=False))
"""


def test_programs_are_printed_in_parts() -> None:
    # This is what JAX 0.10.2 prints.
    assert run_compat(PRINTED_IN_PARTS).splitlines() == [
        "d:f32[] = mul b 3.0:f32[]",
        "b, 3.0:f32[] b f32[]",
        "[a=1 b=(2,)]",
        "{ lambda ; a:f32[]. let ...; b:f32[] = mul c 3.0:f32[] in (b,) }",
        "d:f32[] = mul b 3.0:f32[]",
        "d:f32[] = mul b 3.0:f32[]",
        "{ lambda ; a:f32[]. let",
        "    b:f32[] <- MINE[k=3] a",
        "    c:f32[] = mul b 2.0:f32[]",
        "  in (c,) }",
        "1",
        "{ lambda ; a:f32[]. let",
        "    b:f32[] = mine[k=3] a",
        "    c:f32[] = mul[out_dtype=None] b 2.0:f32[]",
        "  in (c,) }",
        "a",
        "b",
    ]


DISCHARGED = """
import jax
from jax._src.state import discharge
from jax._src.state.types import ReadEffect, WriteEffect
from jax.extend.core import Primitive

scale_p = Primitive("scale_in_place")
scale_p.multiple_results = True

@scale_p.def_effectful_abstract_eval
def types(ref, x, *, by):
    return [x], {ReadEffect(0), WriteEffect(0)}

@discharge.register_discharge_rule(scale_p)
def rule(in_avals, out_avals, array, x, *, by):
    print(*in_avals, *out_avals)
    return (array * by, None), [array + x]

def f(x, y):
    ref = jax.new_ref(x)
    (total,) = scale_p.bind(ref, y, by=3.0)
    return ref[...], total

print(*jax.jit(f)(2.0, 5.0))
"""


def test_rules_of_libraries_discharge_references() -> None:
    assert run_compat(DISCHARGED).splitlines() == [
        "Ref{float32[]} ~float32[] ~float32[]",
        "6.0 7.0",
    ]

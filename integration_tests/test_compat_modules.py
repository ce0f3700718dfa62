# SPDX-License-Identifier: Apache-2.0
"""Private modules of JAX that programs import under `olympus.compat`.

The expected values are those of JAX 0.10.2.
"""

from __future__ import annotations

import os
import subprocess
import sys


def run_compat(code: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "olympus.compat", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


KEYS = """
import jax
import jax.numpy as jnp
import jax._src.random.core as core, jax._src.random.prng as prng

key = jax.random.key(0)
print(isinstance(key, prng.PRNGKeyArray), isinstance(jnp.ones(2), prng.PRNGKeyArray))
print(prng.random_split(key, (2,)).shape, prng.random_bits(key, 32, (2,)).tolist())
print(jax.random.key_data(prng.random_fold_in(key, 3)).tolist(), prng.random_unwrap(key).tolist())
print([word.tolist() for word in prng.iota_2x32_shape((2, 3))])
threefry = prng.prngs["threefry2x32"]
print(round(float(core.normal(key, ())), 4), core.resolve_prng_impl(None) is threefry)
implementation = prng.prngs["threefry2x32"]
print(prng.random_unwrap(prng.seed_with_impl(implementation, 1)).tolist())
print(prng.random_unwrap(prng.random_wrap(jnp.zeros(2, "uint32"), impl=implementation)).tolist())
keys = jax.random.split(key)
print(core._check_prng_key("f", jax.random.PRNGKey(0))[1], core._check_prng_key("f", key)[1])
print(core._check_prng_key("f", keys, allow_batched=True)[0].shape)
try:
    core._check_prng_key("f", keys)
except ValueError:
    print("refused")
"""


def test_functions_of_keys() -> None:
    assert run_compat(KEYS) == [
        "True False",
        "(2,) [4070199207, 4202968722]",
        "[2467461003, 3840466878] [0, 0]",
        "[[[0, 0, 0], [0, 0, 0]], [[0, 1, 2], [3, 4, 5]]]",
        "1.6226 True",
        "[0, 1]",
        "[0, 0]",
        "True False",
        "(2,)",
        "refused",
    ]


RUNTIME = """
import jax
from jax._src import dispatch, monitoring, sharding_impls
from jax._src.interpreters import batching
from jax._src.sharding import common_is_equivalent_to
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

monitoring.register_event_listener(print)
assert monitoring.get_event_listeners() == [print] == monitoring._event_listeners
monitoring.get_event_listeners().clear()
monitoring.record_event("event")
monitoring.clear_event_listeners()
assert not monitoring.get_event_duration_listeners() and not monitoring.get_scalar_listeners()

jax.jit(lambda: jax.debug.print("printed", ordered=True))()
assert len(dispatch.runtime_tokens.current_tokens) == 1
dispatch.runtime_tokens.block_until_ready()
dispatch.runtime_tokens.clear()
assert not dispatch.runtime_tokens.current_tokens
print(batching.make_iota(3))

explicit = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Explicit,) * 2)
automatic = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Auto,) * 2)
renamed = jax.make_mesh((4, 2), ("x", "b"), axis_types=(AxisType.Auto,) * 2)
sharding = NamedSharding(automatic, P("a"))
print(sharding_impls.canonicalize_sharding(NamedSharding(explicit, P("a")), "f").spec)
print(list(sharding_impls.device_replica_id_map(sharding, (8, 2)).values()))
print(sharding_impls.num_addressable_indices(sharding, 0, (8, 2)))
print(
    common_is_equivalent_to(sharding, NamedSharding(automatic, P("a", None)), 2),
    common_is_equivalent_to(sharding, NamedSharding(automatic, P("b")), 2, False),
    common_is_equivalent_to(sharding, NamedSharding(renamed, P("x")), 2, False),
)
for given in (sharding, P("a"), 3):
    try:
        sharding_impls.canonicalize_sharding(given, "f")
    except (TypeError, ValueError) as error:
        print(type(error).__name__, str(error)[:40])
"""


def test_functions_of_the_runtime() -> None:
    assert run_compat(RUNTIME, JAX_NUM_CPU_DEVICES="8") == [
        "event",
        "printed",
        "[0 1 2]",
        "P('a',)",
        "[0, 1, 0, 1, 0, 1, 0, 1]",
        "8",
        "True False True",
        "ValueError PartitionSpec passed to f cannot contain",
        "ValueError f got out_sharding=P('a',), a PartitionS",
        "TypeError `out_sharding` argument of f only suppor",
    ]


ELEMENTS = """
import jax, jax.numpy as jnp
from jax._src.interpreters import batching


class Rows:
    def __init__(self, values):
        self.values = values


jax.tree_util.register_pytree_node(Rows, lambda r: ((r.values,), None), lambda _, v: Rows(*v))
batching.register_vmappable(
    Rows, str, int, lambda cont, index, rows, spec: cont(rows.values, 0) + 10 * index(), None, None
)


def one_row(x):
    trace = jax.core.trace_ctx.trace if hasattr(jax.core, "trace_ctx") else None
    from jax._src.core import trace_ctx

    row = batching.to_elt(trace_ctx.trace, lambda: x, Rows(jnp.arange(6).reshape(3, 2)), "rows")
    return row.sum() + x


print(jax.vmap(one_row)(jnp.arange(3)))
"""


def test_elements_of_registered_containers() -> None:
    # The rows 0 1, 2 3 and 4 5; each row has twice ten times its number added, and its number.
    assert run_compat(ELEMENTS) == ["[ 1 26 51]"]


CLUSTERS = """
from jax._src import clusters


class Fleet(clusters.ClusterEnv):
    name = "fleet"

    @classmethod
    def is_env_present(cls):
        return True

    @classmethod
    def get_coordinator_address(cls, timeout_secs, override_coordinator_port):
        return f"first:{override_coordinator_port or 99}"

    @classmethod
    def get_process_count(cls):
        return 4

    @classmethod
    def get_process_id(cls):
        return 2


from olympus_xla.processes.clusters import Cluster, complete

print(clusters.SlurmCluster.is_env_present(), clusters.OmpiCluster.is_env_present())
print(clusters.SlurmCluster.get_process_count(), clusters.SlurmCluster.get_process_id())
print(clusters.SlurmCluster.get_coordinator_address(None, "5"))
found = complete(Cluster(), "fleet")
is_known = Fleet in clusters.ClusterEnv._cluster_types
layout = (found.coordinator_address, found.num_processes, found.process_id)
print(*layout, found.local_device_ids, is_known)
"""


def test_classes_of_clusters() -> None:
    slurm = {"SLURM_JOB_ID": "1", "SLURM_STEP_NODELIST": "a1", "SLURM_PROCID": "2"}
    assert run_compat(CLUSTERS, SLURM_NTASKS="3", **slurm) == [
        "True False",
        "3 2",
        "a1:5",
        "first:99 4 2 None True",
    ]


ERRORS = """
import jax, jax.numpy as jnp
from jax._src import error_check
from jax.sharding import NamedSharding, PartitionSpec as P


def show():
    try:
        error_check.raise_if_error()
    except error_check.JaxValueError as error:
        print(str(error).splitlines()[0])


@jax.jit
def checked(x, y):
    error_check.set_error_if(x != 0, "x")
    error_check.set_error_if(y != 0, "y")


for x, y in [(0, 0), (1, 0), (0, 1), (1, 1)]:
    checked(x, y)
    show()
    show()

def count(x):
    def body(_, x):
        error_check.set_error_if(x > 3, "large")
        return x + 1
    return jax.lax.fori_loop(0, 10, body, x)

jax.jit(count)(1)
show()
try:
    jax.jit(lambda x: error_check.raise_if_error())(1)
except ValueError as error:
    print(str(error)[:61])

mesh = jax.make_mesh((2,), ("a",))
with jax.set_mesh(mesh), error_check.error_checking_context():
    x = jax.device_put(jnp.arange(4), NamedSharding(mesh, P("a")))
    jax.jit(lambda x: error_check.set_error_if(x == 3, "three"))(x)
    show()
    show()


@jax.jit
def double(x):
    error_check.set_error_if(x < 0, "negative")
    return x * 2

argument = jax.ShapeDtypeStruct((), "float32")
exported = jax.export.export(jax.jit(error_check.wrap_for_export(double)))(argument)
again = error_check.unwrap_from_import(jax.export.deserialize(exported.serialize()).call)
print(again(jnp.float32(2)))
show()
print(again(jnp.float32(-2)))
show()
show()
"""


def test_errors_that_are_raised_later() -> None:
    assert run_compat(ERRORS, JAX_NUM_CPU_DEVICES="2") == [
        "x",
        "y",
        "x",
        "large",
        "raise_if_error() should not be called within a traced context",
        "three",
        "4.0",
        "-4.0",
        "negative",
    ]


SPARSE = """
import unittest
import numpy as np
from jax._src import public_test_util
from jax.experimental import sparse
from jax.experimental.sparse import test_util

print([tuple(layout) for layout in test_util.iter_sparse_layouts((2, 3))])
print([tuple(layout) for layout in test_util.iter_bcsr_layouts((2, 3, 4), 1)])
print(np.count_nonzero(test_util.rand_sparse(np.random.RandomState(0))((4, 6), "float32")))


def array(n_batch=0):
    sample = test_util.rand_bcoo(np.random.RandomState(0), n_batch=n_batch)
    return [sample((3, 4), "float32")]


def total(x):
    return x.sum(0)


def total_of_sparse(x):
    return sparse.bcoo_reduce_sum(x, axes=(0,))


def wrong(x):
    return sparse.bcoo_reduce_sum(x * 2, axes=(0,))


class Totals(test_util.SparseTestCase):
    def test(self):
        self._CheckAgainstDense(total, total_of_sparse, array)
        self._CheckGradsSparse(total, total_of_sparse, array, atol=1e-5, rtol=1e-5)
        self._CheckBatchingSparse(total, total_of_sparse, lambda: array(1), atol=1e-5)
        with self.assertRaises(AssertionError):
            self._CheckAgainstDense(total, wrong, array)
        with self.assertRaises(AssertionError):
            self._CheckGradsSparse(total, wrong, array)


result = unittest.TestResult()
Totals("test").run(result)
print(result.testsRun, result.failures + result.errors)

print(public_test_util.scalar_mul((2.0, np.float32(3)), 0.5))
def product(x, y):
    return x * y
slope = public_test_util.numerical_jvp(product, (2.0, 3.0), (1.0, 1.0))
print(np.round(slope, 6), public_test_util.inner_prod([np.ones(3)], [np.arange(3.0)]))
"""


def test_helpers_of_tests_of_sparse_arrays() -> None:
    assert run_compat(SPARSE) == [
        "[(0, 0, 2), (0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0)]",
        "[(1, 0, 2)]",
        "12",
        "1 []",
        "(1.0, np.float32(1.5))",
        "5.0 3.0",
    ]


LOGGING = """
import logging, sys
from jax._src import logging_config

logging_config.update_debug_log_modules("jax._src.compiler")
assert logging.getLogger("jax._src.compiler").level == logging.DEBUG
logging_config.update_debug_log_modules(None)
assert logging.getLogger("jax._src.compiler").level == logging.NOTSET
print("fine")
"""


def test_levels_of_loggers() -> None:
    assert run_compat(LOGGING) == ["fine"]


ACCUMULATORS = """
import jax
import jax.numpy as jnp
from jax._src import core
from jax._src.interpreters import ad
from jax.extend.core import Primitive

scale = Primitive("scale_by")
scale.def_impl(lambda x, y: x * y)
scale.def_abstract_eval(lambda x, y: x)
ad.primitive_jvps[scale] = lambda primals, tangents: (
    scale.bind(*primals), scale.bind(tangents[0], primals[1])
)


def transpose(cotangent, x, y):
    x.accum(cotangent * y)
    x.accum(None)


ad.fancy_transposes[scale] = transpose
print(jax.grad(lambda x: scale.bind(x, 3.0) + 2 * x)(2.0), ad.fancy_transposes[scale] is transpose)

scalar = core.typeof(jnp.float32(1))
program = jax.make_jaxpr(lambda x, y: 2 * x * y)(1.0, 2.0).jaxpr
reference = jax.new_ref(jnp.float32(1))
places = [ad.ValAccum(scalar), ad.RefAccum(scalar, reference), ad.RefAccum(scalar)]
for place in places:
    for _ in range(2):
        ad.backward_pass3(program, False, [], [place, jnp.float32(5)], [jnp.float32(1)])
print(*(place.freeze() for place in places))
print(ad.ValAccum(scalar).freeze(), ad.RefAccum(scalar).inst().freeze())
try:
    places[0].accum(jnp.ones(3))
except ValueError as error:
    print(error)
"""


def test_accumulators_of_cotangents() -> None:
    assert run_compat(ACCUMULATORS) == [
        "5.0 True",
        "20.0 21.0 20.0",
        "Zero(float32[]) 0.0",
        "Expected cotangent type float32[] but got float32[3]",
    ]


SAME_NAMES = """
import jax
import jax.numpy as jnp
from jax._src import ad_checkpoint, api, core, indexing, xla_transform
from jax._src.interpreters import partial_eval, pxla
from jax._src.lax.scaled_dot import scaled_dot
from jax._src.random.stateful_rng import stateful_rng
from jax._src.lib import gpu_triton
from jax._src.numpy.scalar_types import _ScalarMeta
from jax._src.pjit import debug_info, mesh_lib
from jax._src.third_party.scipy.betaln import betaln
from jax._src.xla_bridge import _backend_lock

assert isinstance(jnp.float32, _ScalarMeta) and mesh_lib.get_concrete_mesh().empty
with _backend_lock:
    assert jax.devices() and gpu_triton.__name__ == "jaxlib.gpu_triton"
assert ad_checkpoint.dots_saveable == jax.checkpoint_policies.dots_saveable
assert partial_eval.everything_saveable(None) is True
assert isinstance(jax.vjp(jnp.sin, 1.0)[1], api.VJP)
print(core.is_symbolic_dim(*jax.export.symbolic_shape("n")), core.is_symbolic_dim(3))
print(jax.vmap(lambda x: x + core.unsafe_am_i_under_a_vmap())(jnp.zeros(2)))
print(core.unsafe_am_i_under_a_vmap(), indexing.ds(2, 3), pxla.get_default_device().platform)
print(scaled_dot(jnp.ones((2, 4)), jnp.ones((4, 3))).shape, stateful_rng(0).normal().shape)
print(round(float(betaln(2.0, 3.0)), 4), xla_transform.PipelineStage.PRE_SCHEDULER.name)
"""


def test_names_that_olympus_has_in_other_modules() -> None:
    assert run_compat(SAME_NAMES) == [
        "True False",
        "[1. 1.]",
        "False Slice(start=2, size=3, stride=1) cpu",
        "(2, 3) ()",
        "-2.4849 PRE_SCHEDULER",  # -log 12
    ]


SIZES = """
import jax
import jax.numpy as jnp
from jax._src import core, jaxpr_util, sourcemap

print(core.dilate_dim(5, 2), core.stride_dim(7, 3, 2), core.divide_shape_sizes((2, 6), (3,)))
(n,) = jax.export.symbolic_shape("n")
print(core.stride_dim(n, 3, 1), core.divide_shape_sizes((n, 6), (n,)))
try:
    core.divide_shape_sizes((5,), (3,))
except Exception as error:
    print(type(error).__name__)
print(jax.jit(lambda x: x + core.unsafe_am_i_under_a_jit())(0), core.unsafe_am_i_under_a_jit())

print(sourcemap.deserialize_mappings("KAGE;;C"), sourcemap.decode_vlq(b"jB"))
program = jax.make_jaxpr(lambda x, y: (x * x + y, jnp.sin(x)))(1.0, 2.0).jaxpr
for variable, definition, uses in jaxpr_util.var_defs_and_refs(program)[1]:
    defined_by = definition and definition.primitive.name
    print(defined_by, [use and use.primitive.name for use in uses])
chosen = jax.make_jaxpr(lambda x, y: jax.lax.cond(x > 0, jnp.negative, lambda y: y, y))(1.0, 2.0)
found = jaxpr_util.jaxpr_and_binder_in_params(chosen.eqns[-1].params, 0)
print([(len(program.eqns), str(variable.aval)) for program, variable in found])
"""


def test_sizes_and_equations_and_digits() -> None:
    assert run_compat(SIZES) == [
        "9 3 4",
        "max(n - 2, 0) 6",
        "InconclusiveDimensionOperation",
        "1 False",
        "[[(5, 0, 3, 2)], [], [(1,)]] -17",
        "None ['mul', 'mul', 'sin']",
        "None ['add']",
        "mul ['add']",
        "add [None]",
        "sin [None]",
        "[(0, '~float32[]'), (1, '~float32[]')]",
    ]


OPERATIONS_OF_RULES = """
import jax, numpy as np
from jax._src import core
from jax._src.interpreters import mlir

def primitive(name, rule, result):
    made = core.Primitive(name)
    made.def_abstract_eval(result)
    mlir.register_lowering(made, rule)
    return lambda *args: jax.jit(made.bind)(*args).tolist()

def masked(ctx, x, y):
    wide = ctx.avals_out[0]
    x, y = mlir.multi_broadcast_in_dim(ctx, (x, y), ctx.avals_in, wide.shape, wide.sharding)
    index = mlir.convert_hlo(
        ctx, mlir.iota(ctx, core.ShapedArray((2, 3), np.int32), dimension=1),
        core.ShapedArray((2, 3), np.int32), wide)
    least = mlir.full_like_aval(ctx, 1.5, wide)
    over = mlir.compare_hlo(mlir.hlo.add(mlir.hlo.add(x, y), index), least, "GT")
    return [mlir.convert_hlo(ctx, over, wide.update(dtype=np.bool_), wide)]

f = primitive("masked", masked, lambda x, y: core.ShapedArray((2, 3), np.float32))
print(f(np.float32([0, 1, 0]), np.float32([[0], [1]])))

def nonzero(ctx, x):
    part = core.ShapedArray((2,), np.int32)
    x = mlir.slice_op(ctx, x, part, start_indices=(1,), limit_indices=(4,), strides=(2,))
    x = mlir.reshape(ctx, x, core.ShapedArray((1, 2), np.int32))
    return [mlir.convert_hlo(ctx, x, core.ShapedArray((1, 2), np.int32), *ctx.avals_out)]

g = primitive("nonzero", nonzero, lambda x: core.ShapedArray((1, 2), np.bool_))
print(g(np.int32([0, 256, 0, 0])))
"""


def test_operations_in_lowering_rules() -> None:
    assert run_compat(OPERATIONS_OF_RULES) == [
        "[[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]",
        "[[True, False]]",
    ]


TORI = """
import numpy as np
from jax._src import mesh_utils

class Chip:
    core_on_chip, device_kind, platform, process_index = 0, "TPU v4", "tpu", 0
    def __init__(self, number, coords):
        self.number, self.coords = number, coords

chips = [Chip(n, (x, y, z)) for n, (z, y, x) in enumerate(np.ndindex(4, 2, 2))]
torus = mesh_utils._get_physical_tpu_mesh(chips)
print(torus.shape, [chip.number for chip in torus.flat][:6])
devices, parts = mesh_utils._create_device_mesh_for_nd_torus(torus, (4, 4))
print([chip.number for chip in devices[1]], parts.tolist())
devices, parts = mesh_utils._create_device_mesh_for_nd_torus_splitting_axes(torus, (2, 8))
print([chip.number for chip in devices[0]], parts.tolist())
"""


def test_arrangements_of_tori() -> None:
    assert run_compat(TORI) == [
        "(2, 2, 4) [0, 4, 8, 12, 2, 6]",
        "[4, 6, 5, 7] [[1, 2], [1, 2], [4, 1]]",
        "[0, 4, 8, 12, 1, 5, 9, 13] [[1, 2], [2, 1], [1, 4]]",
    ]


SPLIT_PROGRAMS = """
import jax, jax.numpy as jnp
from jax._src import ad_checkpoint
from jax._src.interpreters import partial_eval as pe

def f(x, y):
    return jnp.sin(x) * 2.0, jnp.sin(jnp.cos(x)) * y, jnp.exp(y)

def show(fun, unknown, received, ensure_unknown, ensure_received, policy):
    program = jax.make_jaxpr(fun)(1.0, 2.0).jaxpr
    known, staged, *rest = pe.partial_eval_jaxpr_custom(
        program, unknown, received, ensure_unknown, ensure_received, policy)
    known_inputs = [v for v, flag in zip((1.0, 2.0), unknown) if not flag]
    results = jax.core.eval_jaxpr(known, [], *known_inputs)
    count = rest[-1]
    residuals = results[len(results) - count:]
    flags = [received] * 2 if isinstance(received, bool) else received
    inputs = [v for v, flag in zip((1.0, 2.0), flags) if flag]
    print(*rest, len(known.eqns), len(staged.eqns),
          [round(float(v), 3) for v in jax.core.eval_jaxpr(staged, [], *residuals, *inputs)])

nothing, everything = ad_checkpoint.nothing_saveable, ad_checkpoint.everything_saveable
for fun in (f, jax.jit(f)):
    show(fun, [False, True], True, False, False, everything)
show(f, [False, True], True, False, False, nothing)
show(f, [False, True], [False, True], False, False, nothing)
show(f, [False, True], True, True, True, nothing)
show(f, [False, True], True, [True, False, False], [False, True, True], everything)
show(f, [False, False], True, False, False, everything)
show(f, [False, True], True, False, False, lambda prim, *_, **__: prim.name == "cos")
print(pe.ensure_enum(True), pe.ensure_enum(False))
"""


def test_programs_that_policies_divide() -> None:
    assert run_compat(SPLIT_PROGRAMS) == [
        "[False, True, True] [False, True, True] 1 4 2 [1.029, 7.389]",
        "[False, True, True] [False, True, True] 1 4 2 [1.029, 7.389]",
        "[False, True, True] [True, True, True] 0 4 6 [1.683, 1.029, 7.389]",
        "[False, True, True] [True, True, True] 1 4 6 [1.683, 1.029, 7.389]",
        "[True, True, True] [True, True, True] 0 4 6 [1.683, 1.029, 7.389]",
        "[True, True, True] [False, True, True] 1 4 2 [1.029, 7.389]",
        "[False, False, False] [False, False, False] 0 6 0 []",
        "[False, True, True] [True, True, True] 1 4 5 [1.683, 1.029, 7.389]",
        "Saveable Recompute",
    ]


MODULES_OF_KERNELS = """
import importlib
import jax

for name, attribute in {
    "pallas.cost_estimate": "estimate_cost",
    "pallas.fuser.jaxpr_fusion": "fuse",
    "pallas.mosaic.core": "CompilerParams",
    "pallas.mosaic.interpret.params": "InterpretParams",
    "pallas.mosaic.pipeline": "emit_pipeline",
    "pallas.mosaic.primitives": "make_async_copy",
    "pallas.mosaic.sc_core": "VectorSubcoreMesh",
    "pallas.mosaic.tpu_info": "get_tpu_info",
    "pallas.mosaic_gpu.core": "CompilerParams",
    "pallas.triton.primitives": "atomic_add",
    "scipy.cluster.vq": "vq",
    "scipy.fft": "dct",
    "scipy.stats.norm": "logpdf",
    "hijax": "Box",
}.items():
    print(getattr(importlib.import_module(f"jax._src.{name}"), attribute).__name__)
"""


def test_modules_of_kernels_and_distributions() -> None:
    assert (
        run_compat(MODULES_OF_KERNELS)
        == (
            "estimate_cost fuse CompilerParams InterpretParams emit_pipeline make_async_copy "
            "VectorSubcoreMesh get_tpu_info CompilerParams atomic_add vq dct logpdf Box"
        ).split()
    )


BLOCKED_SAMPLES = """
import jax, jax.numpy as jnp
from jax._src import blocked_sampler

def sample(block, index, total=(17, 256)):
    keys = blocked_sampler.blocked_fold_in(
        jax.random.key(0), total_size=total, block_size=block, tile_size=(8, 128),
        block_index=index)
    return blocked_sampler.sample_block(
        jax.random.uniform, keys, block, (8, 128), minval=1.0, maxval=2.0)

whole = sample((24, 256), (0, 0))
print(whole.shape, bool((whole[8:16, 128:] == sample((8, 128), (jnp.int32(1), 1))).all()))
keys = blocked_sampler.blocked_fold_in(
    jax.random.key(0), (2, 16, 256), (1, 16, 128), (1, 8, 128), (1, 0, 1))
print([jax.random.key_data(key).tolist() for key in jax.tree.leaves(keys)])
"""


def test_samples_of_blocks() -> None:
    assert run_compat(BLOCKED_SAMPLES) == [
        "(24, 256) True",
        "[[1524306142, 1887795613], [2716826189, 292468403]]",
    ]


NAMESPACES = """
import jax
import jax.numpy as jnp

copied = dict(jnp.__dict__)
print(callable(copied["sin"]), callable(copied["einsum"]), copied["pi"] == jnp.pi)
for module in (jax, jnp, jnp.linalg, jax.lax, jax.nn, jax.random, jax.scipy.special, jax.core):
    packages = {"collect_profile", "command_line", "example_libraries", "extend", "flatten_util"}
    packages |= {"lib", "test_util", "testing", "tools"}
    print(module.__name__, sorted(set(dir(module)) - vars(module).keys() - packages))
print(hasattr(jnp, "sine"))
jnp.sin = None
print(vars(jnp)["sin"])
"""


def test_dictionaries_of_modules_are_complete() -> None:
    lines = run_compat(NAMESPACES)
    assert lines[0] == "True True True"
    assert lines[1:9] == [
        f"{name} []"
        for name in (
            *("olympus", "jax.numpy", "olympus.numpy.linalg", "olympus.lax", "olympus.nn"),
            *("olympus.random", "olympus.scipy.special", "olympus.core"),
        )
    ]
    assert lines[9:] == ["False", "None"]


RESULT_HANDLERS = """
import jax
import jax.numpy as jnp
from jax._src import lib
from jax._src.clusters import cloud_tpu_cluster
from jax._src.interpreters import pxla
from jax.sharding import NamedSharding, PartitionSpec as P

print(lib.cuda_versions, cloud_tpu_cluster.GceTpuCluster.is_env_present())
mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
sharding = NamedSharding(mesh, P("x"))
aval = jax.core.ShapedArray((4,), jnp.float32)
parts = [jax.device_put(jnp.arange(2.0) + 10 * i, d) for i, d in enumerate(mesh.devices)]
one = pxla.global_result_handlers[jax.core.ShapedArray](aval, sharding, True)(parts)
print(one.tolist(), one.sharding == sharding, one.committed)
handler = pxla.global_avals_to_results_handler([aval], [sharding], committed=True)
print(handler([parts])[0].tolist(), len(handler.handlers))
try:
    pxla.global_aval_to_result_handler(3, sharding, True)
except TypeError as error:
    print(error)
"""


def test_results_of_buffers() -> None:
    assert run_compat(RESULT_HANDLERS, JAX_NUM_CPU_DEVICES="2") == [
        "None False",
        "[0.0, 1.0, 10.0, 11.0] True True",
        "[0.0, 1.0, 10.0, 11.0] 1",
        "No pxla_result_handler for type: <class 'int'>",
    ]

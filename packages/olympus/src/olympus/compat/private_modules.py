# SPDX-License-Identifier: Apache-2.0
"""Names in JAX's private modules that libraries use, and their counterparts in OLYMPUS.

JAX's private modules are not a public interface, yet released libraries import from them. This
module lists the names that libraries import. Each name is looked up when it is first used. A module
that is not listed does not exist, and a name that is not listed raises an `AttributeError`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from olympus import _lazy

from .finder import PRIVATE

_PRIMITIVES = "olympus.extend.core.primitives"

_UNSPECIFIED = _lazy.names_from(
    "olympus_xla.calls.pjit", "UNSPECIFIED", "UnspecifiedValue=_Unspecified"
)

# Maps each module below `jax._src` to the module of OLYMPUS whose names it has, or to None.
_WHOLE_MODULES: dict[str, str | None] = {
    "": None,
    "ad_checkpoint": "olympus.ad_checkpoint",
    "ad_util": None,
    "api": "olympus",
    "api_util": "olympus.api_util",
    "array": None,
    "callback": None,
    "checkify": "olympus.experimental.checkify",
    "compiler": None,
    "config": "olympus_ir.settings.config",
    "core": "olympus.extend.core",
    "custom_batching": "olympus.custom_batching",
    "custom_derivatives": "olympus.custom_derivatives",
    "debugging": "olympus.debug",
    "dispatch": None,
    "distributed": "olympus.distributed",
    "dtypes": "olympus_ir.types.dtypes",
    "earray": None,
    "effects": "olympus_ir.types.effects",
    "errors": "olympus.errors",
    "flatten_util": "olympus.flatten_util",
    "interpreters": None,
    "interpreters.ad": "olympus.interpreters.ad",
    "interpreters.batching": "olympus.interpreters.batching",
    "interpreters.mlir": "olympus.interpreters.mlir",
    "interpreters.partial_eval": "olympus.interpreters.partial_eval",
    "interpreters.xla": "olympus.interpreters.xla",
    "lax": "olympus.lax",
    "lax.control_flow": "olympus.lax",
    "lax.lax": "olympus.lax",
    "lax.parallel": "olympus.lax",
    "lax.slicing": "olympus.lax",
    "lib": None,
    "lib._jax": None,
    "lib.xla_client": None,
    "linear_util": "olympus.extend.linear_util",
    "literals": None,
    "mesh": "olympus.sharding",
    "named_sharding": "olympus.sharding",
    "nn": "olympus.nn",
    "nn.functions": "olympus.nn",
    "nn.initializers": "olympus.nn.initializers",
    "numpy": "olympus.numpy",
    "numpy.array_methods": None,
    "numpy.index_tricks": "olympus.numpy",
    "numpy.lax_numpy": "olympus.numpy",
    "numpy.ufuncs": "olympus.numpy",
    "numpy.util": None,
    "numpy.vectorize": None,
    "partition_spec": "olympus.sharding",
    "pjit": None,
    "prng": None,
    "public_test_util": "olympus.test_util",
    "random": "olympus.random",
    "random.threefry2x32": "olympus.extend.random",
    "scipy": "olympus.scipy",
    "scipy.special": "olympus.scipy.special",
    "sharding": "olympus.sharding",
    "sharding_impls": "olympus.sharding",
    "source_info_util": "olympus.extend.source_info_util",
    "stages": "olympus.stages",
    "state": None,
    "state.types": None,
    "traceback_util": "olympus_ir.diagnostics.traceback_filtering",
    "tree_util": "olympus.tree_util",
    "typing": "olympus.typing",
    "util": None,
    "xla_bridge": "olympus.extend.backend",
}

# Further names of the modules below `jax._src`, which the modules in `_WHOLE_MODULES` lack.
_NAMES: dict[str, dict[str, str]] = {
    "ad_checkpoint": _lazy.names_from(_PRIMITIVES, "remat_p"),
    "ad_util": {
        **_lazy.names_from("olympus_autodiff.zeros", "SymbolicZero", "Zero"),
        **_lazy.names_from("olympus_autodiff.zeros", "instantiate", "zeros_like_aval"),
        **_lazy.names_from("olympus.interpreters.ad", "add_olympusvals", "add_olympusvals_p"),
        **_lazy.names_from("olympus.compat.tangents", "p2tz"),
        **_lazy.names_from(_PRIMITIVES, "stop_gradient_p"),
    },
    "api_util": _lazy.names_from("olympus.compat.signatures", "infer_argnums_and_argnames"),
    "array": _lazy.names_from("olympus_xla._jaxlib", "ArrayImpl"),
    "checkify": {
        **_lazy.names_from("olympus_checkify.errors", "JaxException=CheckError"),
        **_lazy.names_from("typing", "Out=Any"),
    },
    "core": {
        **_lazy.names_from("olympus.core", "AbstractValue", "ShapedArray", "Trace", "Tracer"),
        **_lazy.names_from("olympus.core", "Atom", "ensure_compile_time_eval", "eval_context"),
        **_lazy.names_from("olympus.core", "eval_olympuspr", "max_dim", "min_dim"),
        **_lazy.names_from("olympus_ir.types.avals", "get_aval"),
        **_lazy.names_from("olympus_ir.programs.tracing", "typeof", "is_constant_dim"),
        **_lazy.names_from("olympus_ir.programs.tracing", "trace_ctx=current"),
        **_lazy.names_from("olympus_ir.adapters.trace_state", "trace_state_clean"),
        **_lazy.names_from("olympus.compat.literals", "full_lower"),
        **_lazy.names_from("olympus_ir.types.memory_spaces", "MemorySpace"),
        **_lazy.names_from("olympus.ref", "new_ref"),
        **_lazy.names_from("olympus_ir.types.extended_arrays", "physical_aval"),
        **_lazy.names_from("olympus_ir._jaxlib", "safe_map", "safe_zip"),
        **_lazy.names_from(_PRIMITIVES, "call_p", "closed_call_p"),
    },
    "dispatch": {
        **_lazy.names_from("olympus_xla.calls.effect_tokens", "wait_for_tokens=barrier"),
        **_lazy.names_from("olympus.interpreters.xla", "apply_primitive"),
    },
    "distributed": {"global_state": "olympus.compat.registries:distributed_state"},
    "dtypes": {
        **_lazy.names_from("olympus_ir.types.promotion", "TypePromotionError", "result_type"),
        **_lazy.names_from("olympus_ir.types.dtypes", "DType", "DTypeLike", "extended", "finfo"),
        **_lazy.names_from("olympus_ir.types.extended_dtypes", "ExtendedDType"),
    },
    "flatten_util": {},
    "interpreters": {},
    "interpreters.batching": _lazy.names_from("olympus.compat.registries", "is_vmappable"),
    "lib": {"jaxlib_extension_version": "jaxlib.xla_client:_version"},
    "lib._jax": _lazy.names_from("olympus_xla._jaxlib", "PjitFunction"),
    "lib.xla_client": _lazy.names_from(
        "olympus_xla._jaxlib", "Client", "Device", "XlaRuntimeError=JaxRuntimeError"
    ),
    "literals": {
        **_lazy.names_from("olympus.compat.literals", "TypedComplex"),
        **_lazy.names_from("olympus.compat.literals", "TypedFloat", "TypedInt", "TypedNdArray"),
    },
    "mesh": {
        **_lazy.names_from("olympus.interpreters._thread_resources", "thread_resources"),
        **_lazy.names_from("olympus_sharding.meshes.context", "get_concrete_mesh=get_mesh"),
    },
    "named_sharding": _UNSPECIFIED,
    "nn.initializers": _lazy.names_from(
        "olympus_nn.initializers",
        "_complex_truncated_normal=_truncated_complex_normal",
        "_complex_uniform=_in_disk",
    ),
    "numpy.array_methods": _lazy.names_from(
        "olympus_numpy.indexing.updates",
        "_IndexUpdateHelper=Updates",
        "_IndexUpdateRef=IndexedUpdate",
    ),
    "numpy.index_tricks": _lazy.names_from(
        "olympus_numpy.numerics.index_tricks", "CClass=_C", "RClass=_R"
    ),
    "numpy.util": {
        **_lazy.names_from("olympus_numpy.core.promotion", "promote_dtypes"),
        **_lazy.names_from("olympus_numpy.core.promotion", "promote_dtypes_inexact"),
        **_lazy.names_from("olympus.compat.promotion", "promote_dtypes_complex"),
    },
    "numpy.vectorize": {
        **_lazy.names_from(
            "olympus_numpy.elementwise.vectorization", "_parse_gufunc_signature=_parse_signature"
        ),
        **_lazy.names_from(
            "olympus.compat.vectorization",
            "_apply_excluded=apply_excluded",
            "_check_output_dims=check_output_dims",
            "_parse_input_dimensions=parse_input_dimensions",
        ),
    },
    "pjit": {
        **_lazy.names_from(_PRIMITIVES, "jit_p"),
        **_lazy.names_from("olympus.sharding", "auto_axes"),
    },
    "prng": _lazy.names_from("olympus.extend.random", "threefry_2x32", "threefry_prng_impl"),
    "public_test_util": _lazy.names_from("olympus.compat.comparisons", "check_close"),
    "random.threefry2x32": {
        **_lazy.names_from("olympus_random.generators.threefry", "threefry_seed=_seed"),
        **_lazy.names_from("olympus_random.generators.threefry", "threefry_split=_split"),
        **_lazy.names_from("olympus_random.generators.threefry", "threefry_fold_in=_fold_in"),
        **_lazy.names_from(
            "olympus_random.generators.threefry", "threefry_random_bits=_random_bits"
        ),
    },
    "random": _lazy.names_from("olympus_ir.types.annotations", "Shape"),
    "sharding_impls": {
        **_lazy.names_from("olympus.sharding", "make_single_device_sharding"),
        **_UNSPECIFIED,
    },
    "source_info_util": {
        **_lazy.names_from("olympus_ir.diagnostics.source_info", "Frame"),
        **_lazy.names_from("olympus.compat.frames", "user_frame", "user_frames"),
        **_lazy.names_from("olympus_ir.diagnostics.source_info", "is_user_filename=is_user_file"),
    },
    "state": _lazy.names_from("olympus_ir.types.references", "AbstractRef"),
    "state.types": _lazy.names_from("olympus_ir.types.references", "AbstractRef"),
    "traceback_util": _lazy.names_from(
        "olympus_ir.diagnostics.source_info", "_exclude_paths=_library_folders"
    ),
    "typing": _lazy.names_from("olympus", "Array"),
    "tree_util": {"_registry": "olympus.compat.registries:pytree_nodes"},
    "util": {
        **_lazy.names_from("olympus_ir._jaxlib", "safe_map", "safe_zip"),
        **_lazy.names_from("functools", "partial", "wraps"),
    },
    "xla_bridge": {
        **_lazy.names_from("olympus", "devices"),
        "_backends": "olympus.compat.registries:made_backends",
    },
}


# The names in those private modules that are below public modules.
_PARTS: dict[str, dict[str, str]] = {
    "jax.experimental.colocated_python.func": {},
    "jax.experimental.colocated_python.serialization": {
        **_lazy.names_from("olympus_xla._jaxlib", "DeviceList"),
        **_lazy.names_from("olympus_xla.platforms", "xb=backends"),
    },
}


def private_modules() -> dict[str, Callable[[], ModuleType]]:
    """Returns a dictionary from the names of private modules to functions that make them."""
    modules = {
        f"{PRIVATE}.{below}" if below else PRIVATE: _maker(below, whole)
        for below, whole in _WHOLE_MODULES.items()
    }
    parts = {name: functools.partial(_module, name, names) for name, names in _PARTS.items()}
    return {**modules, **parts}


def _maker(below: str, whole: str | None) -> Callable[[], ModuleType]:
    name = f"{PRIVATE}.{below}" if below else PRIVATE
    prefix = f"{below}." if below else ""
    submodules = tuple(
        other.removeprefix(prefix)
        for other in _WHOLE_MODULES
        if other and other.startswith(prefix) and "." not in other.removeprefix(prefix)
    )

    def fallback(attribute: str) -> Any:
        if whole is None:
            raise AttributeError(attribute)
        return getattr(importlib.import_module(whole), attribute)

    return functools.partial(_module, name, _NAMES.get(below, {}), submodules, fallback)


def _module(
    name: str,
    names: dict[str, str],
    submodules: tuple[str, ...] = (),
    fallback: Callable[[str], Any] | None = None,
) -> ModuleType:
    module = ModuleType(name, "Names of OLYMPUS under those of a private module of JAX.")
    attributes: Any = module
    attributes.__getattr__, attributes.__dir__ = _lazy.lazy_attributes(
        name, names, submodules, fallback
    )
    return module

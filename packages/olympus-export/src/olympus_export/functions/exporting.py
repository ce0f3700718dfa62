# SPDX-License-Identifier: Apache-2.0
"""Export of functions as StableHLO programs, which can be called in another process.

An exported program can be serialized. It runs on the platforms it was exported for, without the
Python code that it was traced from.

Calling convention: the module's public function ``main`` takes the flat arguments at the positions
``module_kept_var_idx`` and returns the flat results. If the function was exported for several
platforms, ``main`` has an additional first operand: the index of the current platform, an int32
scalar.

Shapes may be symbolic; see `symbolic_shape`. The operands of ``main`` then have dynamic shapes, and
``main`` checks that these shapes are consistent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_autodiff import vjp
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.evaluation import olympuspr_as_fun
from olympus_ir.settings import config_flags
from olympus_ir.symbolic import is_symbolic_dim
from olympus_ir.trees import pytrees
from olympus_ir.types.dtypes import tangent_dtype
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_xla.calls import stages
from olympus_xla.calls.jit import jit
from olympus_xla.compiling import program_lowering
from olympus_xla.compiling.lowering import mlir
from olympus_xla.compiling.placement.placements import Placement, platform_of
from olympus_xla.compiling.placement.resolution import resolve_placement
from olympus_xla.platforms.backends import default_device

from .exported import Exported, path_of
from .safety_checks import DisabledSafetyCheck
from .stable_targets import check_custom_calls

__all__ = [
    "default_export_platform",
    "export",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
]

minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10


def default_export_platform() -> str:
    """Returns the platform of the default device, which is the default for exports.

    Example:
      >>> default_export_platform()
      'cpu'
    """
    return platform_of(default_device())


def export(
    fun_jit: Any,
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[..., Exported]:
    """Exports a function for arguments of given types.

    Args:
      fun_jit: a function returned by `jit`.
      platforms: the platforms to export for, some of ``"cpu"``, ``"cuda"``, ``"rocm"`` and
        ``"tpu"``. They need not be present. The default is the platform of the default device.
      disabled_checks: safety checks to switch off; see `DisabledSafetyCheck`.

    Returns:
      A function that takes arguments, or `ShapeDtypeStruct`s in place of arrays, and returns an
      `Exported`.

    Raises:
      ValueError: ``fun_jit`` does not come from `jit`, or the program calls foreign functions
        without a guarantee of compatibility.
      NotImplementedError: an argument is a reference.

    Example:
      >>> import numpy as np
      >>> from olympus import jit, lax
      >>> from olympus_export.functions.reading import deserialize
      >>> exported = export(jit(lax.sin), platforms=("cpu", "tpu"))(np.float32(1))
      >>> blob = exported.serialize()
      >>> deserialize(blob).call(0.0)
      Array(0., dtype=float32)
    """
    if not isinstance(fun_jit, stages.Wrapped):
        raise ValueError(
            f"Function to be exported must be the result of `jit` but is: {fun_jit}. Write "
            "export(olympus.jit(fun))."
        )
    if platforms is not None:
        platforms = stages.check_platforms(platforms, "platforms")
    version = _calling_convention_version()

    @api_boundary
    def export_for(*args_specs: Any, **kwargs_specs: Any) -> Exported:
        leaves, in_tree = pytrees.tree_flatten((args_specs, kwargs_specs))
        _check_one_scope(getattr(fun_jit, "__name__", "a function"), leaves, in_tree)
        traced = fun_jit.trace(*args_specs, **kwargs_specs)
        _check_no_references(traced)
        return _export_traced(traced, platforms, tuple(disabled_checks), version)

    return export_for


def _check_no_references(traced: stages.Traced) -> None:
    """Raises NotImplementedError if a function takes a reference."""
    for aval in traced.jaxpr.in_avals:
        if aval.is_ref:
            raise NotImplementedError(
                f"`{traced.fun_name}` takes a reference, of type {aval.str_short()}, and cannot be "
                "exported: exported functions take and return arrays. Pass what the reference "
                "holds, `ref[...]`, and return what is to be written."
            )


def _calling_convention_version() -> int:
    version = config_flags.export_calling_convention_version.value
    lowest = minimum_supported_calling_convention_version
    highest = maximum_supported_calling_convention_version
    if not lowest <= version <= highest:
        raise ValueError(
            f"The requested export calling convention version {version} is outside the range of "
            f"supported versions [{lowest}..{highest}]; the flag "
            "olympus_export_calling_convention_version asks for it"
        )
    return version


def _lowered_for_export(
    traced: stages.Traced, platforms: tuple[str, ...], placement: Placement
) -> program_lowering.Lowered:
    """Lowers a traced function with all constants in its module.

    Raises:
      NotImplementedError: the function calls back into Python.
    """
    lowered = program_lowering.lower(
        traced._program.closed,
        name=traced.fun_name,
        platforms=platforms,
        donated=traced._program.params["donated_invars"],
        keep_unused=traced._options.keep_unused,
        placement=placement,
        inline_constants=True,
        portable=True,
        name_of_operand=functools.partial(path_of, traced.in_tree),
    )
    if lowered.host_callbacks:
        raise NotImplementedError(
            f"the function {traced.fun_name} calls back into Python (by debug.print, debug.callback"
            ", pure_callback or io_callback) and cannot be exported: serialization of "
            "host_callbacks is not yet implemented"
        )
    return lowered


def _export_traced(
    traced: stages.Traced,
    platforms: tuple[str, ...] | None,
    disabled_checks: tuple[DisabledSafetyCheck, ...],
    version: int,
) -> Exported:
    program = traced._program
    placement = resolve_placement(traced._options, program, traced._shardings)
    if platforms is None:
        platforms = (platform_of(placement.devices[0]),)
    lowered = _lowered_for_export(traced, platforms, placement)
    check_custom_calls(lowered.module, disabled_checks)
    is_symbolic = program_lowering.has_symbolic_shapes(program.closed.in_avals)
    attributes = lowered.module.operation.attributes
    # Calls of functions that were exported for symbolic shapes set `lowered.needs_refinement`.
    uses_global_constants = len(platforms) > 1 or is_symbolic or lowered.needs_refinement
    attributes["jax.uses_shape_polymorphism"] = mlir.boolean(uses_global_constants)
    in_named, in_hlo = _shardings(placement, placement.in_shardings, lowered.in_avals)
    out_named, out_hlo = _shardings(placement, placement.out_shardings, lowered.out_avals)
    return Exported(
        fun_name=traced.fun_name,
        in_tree=traced.in_tree,
        in_avals=tuple(lowered.in_avals),
        out_tree=traced.out_tree,
        out_avals=tuple(lowered.out_avals),
        _has_named_shardings=True,
        _in_named_shardings=in_named,
        _out_named_shardings=out_named,
        in_shardings_hlo=in_hlo,
        out_shardings_hlo=out_hlo,
        nr_devices=len(placement.devices),
        platforms=platforms,
        ordered_effects=lowered.ordered_effects,
        unordered_effects=tuple(
            sorted(set(lowered.effects) - set(lowered.ordered_effects), key=str)
        ),
        disabled_safety_checks=disabled_checks,
        mlir_module_serialized=mlir.portable_artifact(
            lowered.module, newest=config_flags.export_ignore_forward_compatibility.value
        ),
        calling_convention_version=version,
        module_kept_var_idx=tuple(
            position for position, is_kept in enumerate(lowered.kept) if is_kept
        ),
        uses_global_constants=uses_global_constants,
        _get_vjp=functools.partial(_export_vjp, traced=traced, placement=placement),
    )


def _check_one_scope(name: str, leaves: Sequence[Any], in_tree: Any) -> None:
    """Raises ValueError if the symbolic shapes of the arguments have different scopes."""
    scope, first = None, ""
    for position, leaf in enumerate(leaves):
        for size in getattr(leaf, "shape", ()):
            if type(size) is int or not is_symbolic_dim(size):
                continue
            if scope is None:
                scope, first = size.scope, path_of(in_tree, position)
            if size.scope is not scope:
                path = path_of(in_tree, position)
                scope.check_same_scope(
                    size, f"when exporting {name}", f"current (from {first})", path
                )


def _shardings(
    placement: Placement, shardings: Sequence[Any], avals: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Returns the shardings over abstract meshes and the shardings in XLA's form.

    A sharding is in only one of the two tuples. The other tuple has None at this position. An
    unspecified sharding is None in both.
    """
    if len(placement.devices) == 1 or not shardings:
        nothing = (None,) * len(avals)
        return nothing, nothing
    named, hlo = [], []
    for sharding, aval in zip(shardings, avals, strict=True):
        if sharding is None:
            named.append(None)
            hlo.append(None)
        elif hasattr(sharding, "spec"):
            named.append(
                type(sharding)(
                    sharding.mesh.abstract_mesh, sharding.spec, memory_kind=sharding.memory_kind
                )
            )
            hlo.append(None)
        else:
            named.append(None)
            hlo.append(sharding._to_xla_hlo_sharding(aval.ndim))
    return tuple(named), tuple(hlo)


# ---- derivatives ----


def _export_vjp(exported: Exported, traced: stages.Traced, placement: Placement) -> Exported:
    """Exports the vector-Jacobian product of an exported function."""
    function = olympuspr_as_fun(traced.jaxpr)
    count = len(exported.in_avals)

    def fun_vjp(*args_and_cotangents: Any) -> Any:
        args, cotangents = args_and_cotangents[:count], args_and_cotangents[count:]
        _, pull_back = vjp(lambda *args: list(function(*args)), *args)
        return pull_back(list(cotangents))

    fun_vjp.__name__ = f"{exported.fun_name}_vjp"
    specs = [
        *(ShapeDtypeStruct(aval.shape, aval.dtype) for aval in exported.in_avals),
        *(ShapeDtypeStruct(aval.shape, tangent_dtype(aval.dtype)) for aval in exported.out_avals),
    ]
    shardings: dict[str, Any] = {}
    if exported.nr_devices > 1:
        ins = placement.in_shardings or (None,) * count
        outs = placement.out_shardings or (None,) * len(exported.out_avals)
        shardings = {"in_shardings": (*ins, *outs), "out_shardings": tuple(ins)}
    return export(
        jit(fun_vjp, **shardings),
        platforms=exported.platforms,
        disabled_checks=exported.disabled_safety_checks,
    )(*specs)

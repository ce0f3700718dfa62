# SPDX-License-Identifier: Apache-2.0
"""Exported functions: programs that can be called in another process."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from olympus_autodiff import custom_vjp
from olympus_autodiff.tables import jvp_rules
from olympus_batching.tables import batching_rules
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.programs.primitives import instruction
from olympus_ir.reference import reference_rules
from olympus_ir.symbolic.expressions import evaluate
from olympus_ir.symbolic.solving import solve
from olympus_ir.trees import pytrees
from olympus_ir.trees.pytrees import PyTreeDef
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.effects import Effect
from olympus_ir.types.placement import BaseMesh, NamedSharding, Sharding
from olympus_xla._jaxlib import GSPMDSharding
from olympus_xla.compiling.lowering import mlir

from .safety_checks import DisabledSafetyCheck
from .writing import serialize

__all__ = ["Exported", "call_exported_p"]


@boundary_class
class Exported:
    """A function that was lowered to StableHLO and can be serialized.

    `export` and `deserialize` make exported functions.

    Attributes:
      fun_name: the name of the function.
      in_tree: the structure of ``(args, kwargs)``.
      in_avals: the types of the flat arguments.
      out_tree: the structure of the result.
      out_avals: the types of the flat results.
      in_shardings_hlo: for each flat argument, its sharding in XLA's form, or None.
      out_shardings_hlo: for each flat result, its sharding in XLA's form, or None.
      nr_devices: the number of devices the program is partitioned over.
      platforms: the platforms the function was exported for. If there are several, the main
        function first takes the position of the current platform in this tuple.
      ordered_effects: the effects whose tokens the main function takes and returns.
      unordered_effects: the other effects.
      disabled_safety_checks: the safety checks that are switched off.
      mlir_module_serialized: the StableHLO module as a portable artifact.
      calling_convention_version: the version of the main function's calling convention.
      module_kept_var_idx: the positions of the flat arguments that the main function takes.
      uses_global_constants: whether the function was exported for several platforms, or the shapes
        in its module need refinement.
    """

    __slots__ = (
        "_call_flat",
        "_get_vjp",
        "_has_named_shardings",
        "_in_named_shardings",
        "_out_named_shardings",
        "_solution",
        "calling_convention_version",
        "disabled_safety_checks",
        "fun_name",
        "in_avals",
        "in_shardings_hlo",
        "in_tree",
        "is_symbolic",
        "mlir_module_serialized",
        "module_kept_var_idx",
        "nr_devices",
        "ordered_effects",
        "out_avals",
        "out_shardings_hlo",
        "out_tree",
        "platforms",
        "unordered_effects",
        "uses_global_constants",
    )

    def __init__(
        self,
        fun_name: str,
        in_tree: PyTreeDef,
        in_avals: tuple[ShapedArray, ...],
        out_tree: PyTreeDef,
        out_avals: tuple[ShapedArray, ...],
        _has_named_shardings: bool,
        _in_named_shardings: tuple[NamedSharding | None, ...],
        _out_named_shardings: tuple[NamedSharding | None, ...],
        in_shardings_hlo: tuple[Any, ...],
        out_shardings_hlo: tuple[Any, ...],
        nr_devices: int,
        platforms: tuple[str, ...],
        ordered_effects: tuple[Effect, ...],
        unordered_effects: tuple[Effect, ...],
        disabled_safety_checks: Sequence[DisabledSafetyCheck],
        mlir_module_serialized: bytes,
        calling_convention_version: int,
        module_kept_var_idx: tuple[int, ...],
        uses_global_constants: bool,
        _get_vjp: Callable[[Exported], Exported] | None,
    ) -> None:
        self.fun_name = fun_name
        self.in_tree = in_tree
        self.in_avals = in_avals
        self.out_tree = out_tree
        self.out_avals = out_avals
        self._has_named_shardings = _has_named_shardings
        self._in_named_shardings = _in_named_shardings
        self._out_named_shardings = _out_named_shardings
        self.in_shardings_hlo = in_shardings_hlo
        self.out_shardings_hlo = out_shardings_hlo
        self.nr_devices = nr_devices
        self.platforms = platforms
        self.ordered_effects = ordered_effects
        self.unordered_effects = unordered_effects
        self.disabled_safety_checks = tuple(disabled_safety_checks)
        self.mlir_module_serialized = mlir_module_serialized
        self.calling_convention_version = calling_convention_version
        self.module_kept_var_idx = module_kept_var_idx
        self.uses_global_constants = uses_global_constants
        self._get_vjp = _get_vjp
        self._call_flat: Any = None
        self._solution: Any = None
        self.is_symbolic = any(
            type(size) is not int for aval in in_avals for size in getattr(aval, "shape", ())
        )

    def __repr__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    def solution(self) -> Any:
        """Returns the equations that determine the dimension variables from the argument shapes."""
        if self._solution is None:
            shapes = [aval.shape for aval in self.in_avals]
            self._solution = solve(shapes, functools.partial(path_of, self.in_tree))
        return self._solution

    def mlir_module(self) -> str:
        """Returns the StableHLO module as text."""
        return str(mlir.portable_module(self.mlir_module_serialized))

    def in_shardings_jax(self, mesh: BaseMesh) -> tuple[Sharding | None, ...]:
        """Returns the sharding of each flat argument over a mesh; None for an unspecified sharding.

        Args:
          mesh: a mesh of ``nr_devices`` devices.
        """
        return self._shardings_over(mesh, self._in_named_shardings, self.in_shardings_hlo)

    def out_shardings_jax(self, mesh: BaseMesh) -> tuple[Sharding | None, ...]:
        """Returns the sharding of each flat result over a mesh; None for an unspecified sharding.

        Args:
          mesh: a mesh of ``nr_devices`` devices.
        """
        return self._shardings_over(mesh, self._out_named_shardings, self.out_shardings_hlo)

    def _shardings_over(
        self, mesh: Any, named: Sequence[NamedSharding | None], hlo: Sequence[Any]
    ) -> tuple[Sharding | None, ...]:
        nothing_said = not any(sharding is not None for sharding in (*named, *hlo))
        if mesh.size != self.nr_devices and not nothing_said:
            raise ValueError(
                f"{self.fun_name} was exported for {self.nr_devices} devices, and the mesh {mesh} "
                f"has {mesh.size}"
            )

        def sharding_on_mesh(named_sharding: Any, hlo_sharding: Any) -> Any:
            if named_sharding is not None:
                return NamedSharding(mesh, named_sharding.spec)
            if hlo_sharding is not None:
                return GSPMDSharding(mesh._internal_device_list, hlo_sharding)
            return None

        return tuple(map(sharding_on_mesh, named, hlo))

    def has_vjp(self) -> bool:
        """Returns whether the function can be differentiated in reverse mode."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """Returns the exported vector-Jacobian product.

        The product takes the flat arguments and one cotangent for each flat result, and returns the
        cotangents of the flat arguments.

        Raises:
          ValueError: the function was serialized without a derivative.
        """
        if self._get_vjp is None:
            raise ValueError(
                f"No VJP is available of the exported function {self.fun_name}: it was serialized "
                "without its derivative. Serialize it with vjp_order=1, or higher, to "
                "differentiate it as often."
            )
        return self._get_vjp(self)

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """Returns the exported function as bytes, for `deserialize`.

        Args:
          vjp_order: the number of times that the deserialized function can be differentiated in
            reverse mode.
        """
        return serialize(self, vjp_order)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function.

        Under a transformation, the function becomes part of the caller's program.

        Args:
          *args: arguments of the types that the function was exported for.
          **kwargs: keyword arguments of the types that the function was exported for.

        Raises:
          ValueError: the arguments do not have the structure and types of the export.
        """
        leaves, in_tree = pytrees.tree_flatten((args, kwargs))
        if in_tree != self.in_tree:
            _raise_structure_error(self, in_tree)
        for position, (leaf, aval) in enumerate(zip(leaves, self.in_avals, strict=True)):
            actual = get_aval(leaf)
            if actual.shape != aval.shape:
                _check_shape(self, position, aval, actual)
            if actual.dtype != aval.dtype:
                _raise_mismatch("Dtype", self, position, aval, actual)
        if self._call_flat is None:
            self._call_flat = _differentiable_call(self)
        return pytrees.tree_unflatten(self.out_tree, self._call_flat(*leaves))


def _check_shape(exported: Exported, position: int, aval: Any, actual: Any) -> None:
    """Raises ValueError if the rank or a static dimension of a shape differs."""
    if aval.ndim != actual.ndim:
        _raise_mismatch("Rank", exported, position, aval, actual)
    for dimension, (size, given_size) in enumerate(zip(aval.shape, actual.shape, strict=True)):
        if type(size) is int and given_size != size:
            where = f".shape[{dimension}] (expected same constant)"
            _raise_mismatch("Shape", exported, position, aval, actual, where)


def _raise_mismatch(
    kind: str, exported: Exported, position: int, aval: Any, actual: Any, where: str = ""
) -> NoReturn:
    field = "dtype" if kind == "Dtype" else "shape"
    raise ValueError(
        f"{kind} mismatch for {path_of(exported.in_tree, position)}{where}: "
        f"expected {_shown(aval, field)} and called with {_shown(actual, field)}"
    )


def _shown(aval: Any, kind: str) -> str:
    return str(aval.shape) if kind == "shape" else getattr(aval.dtype, "name", str(aval.dtype))


def path_of(in_tree: Any, position: int) -> str:
    """Returns the name of a flat argument: ``args`` or ``kwargs``, then the path to the leaf."""
    first, *rest = pytrees.Structure(in_tree).paths()[position]
    return ("args", "kwargs")[first.idx] + pytrees.keystr(tuple(rest))


def _raise_structure_error(exported: Exported, in_tree: Any) -> None:
    differences = []
    for path, now, before, explanation in pytrees.equality_errors_of_structures(
        in_tree, exported.in_tree
    ):
        where = ("args", "kwargs")[path[0].idx] + pytrees.keystr(path[1:]) if path else "it"
        differences.append(
            f"   - {where} is {now} in the invocation and {before} when exported, so {explanation}."
        )
    raise ValueError(
        "The invocation args and kwargs must have the same pytree structure as when the function "
        f"'{exported.fun_name}' was exported, but they have the following structural differences:\n"
        + "\n".join(differences)
    )


def _differentiable_call(exported: Exported) -> Callable[..., list[Any]]:
    """Returns a function of flat arguments that calls an exported function.

    Reverse mode calls the exported vector-Jacobian product.
    """

    def call_flat(*args: Any) -> list[Any]:
        return call_exported_p.bind(*args, exported=exported)

    call_flat.__name__ = f"{exported.fun_name}_flat"
    differentiable = custom_vjp(call_flat)

    def forward(*args: Any) -> tuple[list[Any], tuple[Any, ...]]:
        return differentiable(*args), args

    def backward(args: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
        return tuple(exported.vjp().call(*args, *cotangents))

    forward.__name__ = f"{call_flat.__name__}_vjp_fwd"
    backward.__name__ = f"{call_flat.__name__}_vjp_bwd"
    differentiable.defvjp(forward, backward)
    return differentiable


# ---- the primitive ----

call_exported_p = instruction(
    "call_exported", multiple_results=True, family="export", cache_inference=False
)


@call_exported_p.def_effectful_abstract_eval
def _types(*avals: Any, exported: Exported) -> tuple[Any, frozenset]:
    effects = frozenset((*exported.ordered_effects, *exported.unordered_effects))
    if not exported.is_symbolic:
        return exported.out_avals, effects

    values = exported.solution().values_for([aval.shape for aval in avals])
    out_avals = [
        aval.update(shape=tuple(evaluate(size, values) for size in aval.shape))
        for aval in exported.out_avals
    ]
    return out_avals, effects


batching_rules.exempt(
    call_exported_p,
    reason="an exported program has the shapes it was exported for; map over it with lax.map, or "
    "export the batched function",
)
jvp_rules.exempt(
    call_exported_p,
    reason="an exported program is differentiated in reverse mode, by its exported vjp",
)
reference_rules.exempt(
    call_exported_p, reason="an exported program is StableHLO, which XLA runs and NumPy cannot"
)

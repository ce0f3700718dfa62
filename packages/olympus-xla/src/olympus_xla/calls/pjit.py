# SPDX-License-Identifier: Apache-2.0
"""`pjit`: `jit` whose partition specs refer to the mesh of ``with mesh:``."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.settings import config_states
from olympus_ir.trees import pytrees
from olympus_ir.types.placement import UNSPECIFIED, AxisType, PartitionSpec
from olympus_sharding.meshes.context import get_abstract_mesh, with_axis_types

from .jit import jit

__all__ = ["pjit"]


def pjit(
    fun: Callable[..., Any],
    in_shardings: Any = UNSPECIFIED,
    out_shardings: Any = UNSPECIFIED,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Compiles a function as `jit` does, over the mesh of ``with mesh:`` if there is one.

    Args:
      fun: the function.
      in_shardings: as for `jit`; partition specs refer to the mesh of ``with mesh:`` at the call.
        Under such a mesh, None stands for the spec ``P()``.
      out_shardings: the same for the results.
      static_argnums: as for `jit`.
      static_argnames: as for `jit`.
      donate_argnums: as for `jit`.
      donate_argnames: as for `jit`.
      keep_unused: as for `jit`.
      device: as for `jit`.
      backend: as for `jit`.
      inline: as for `jit`.
      compiler_options: as for `jit`.

    Returns:
      A function with the arguments and results of ``fun``, and with ``lower``, ``trace``,
      ``eval_shape`` and ``clear_cache``.

    Example:
      >>> import numpy as np
      >>> import olympus
      >>> from olympus.sharding import Mesh, PartitionSpec
      >>> with olympus.set_mesh(Mesh(olympus.devices()[:1], ("i",))):
      ...     pjit(lambda x: x + 1, in_shardings=PartitionSpec("i"))(np.zeros(2)).shape
      (2,)
    """
    compiled = functools.partial(
        jit,
        fun,
        static_argnums=static_argnums,
        static_argnames=static_argnames,
        donate_argnums=donate_argnums,
        donate_argnames=donate_argnames,
        keep_unused=keep_unused,
        device=device,
        backend=backend,
        inline=inline,
        compiler_options=compiler_options,
    )
    shardings = {"in_shardings": in_shardings, "out_shardings": out_shardings}
    shardings = {name: value for name, value in shardings.items() if value is not UNSPECIFIED}
    without_mesh = compiled(**shardings)
    over_mesh = compiled(**{name: _replicated_for_none(value) for name, value in shardings.items()})
    called: Any = _choice(without_mesh, over_mesh)
    for name in ("lower", "trace", "eval_shape"):
        setattr(called, name, _choice(getattr(without_mesh, name), getattr(over_mesh, name)))

    def clear_cache() -> None:
        """Drops the compiled forms of the function."""
        without_mesh.clear_cache()
        over_mesh.clear_cache()

    called.clear_cache = clear_cache
    return called


def _replicated_for_none(shardings: Any) -> Any:
    return pytrees.tree_map(
        lambda spec: PartitionSpec() if spec is None else spec,
        shardings,
        is_leaf=lambda spec: spec is None,
    )


def _choice(without_mesh: Callable[..., Any], over_mesh: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function that calls ``over_mesh`` in a mesh context, else ``without_mesh``."""

    @api_boundary
    @functools.wraps(without_mesh)
    def call(*args: Any, **kwargs: Any) -> Any:
        mesh = config_states.current_scope("mesh")
        # Inside a manual region, the region determines the devices.
        if mesh is None or mesh.empty or get_abstract_mesh().manual_axes:
            return without_mesh(*args, **kwargs)
        with _in_force(mesh):
            return over_mesh(*args, **kwargs)

    return call


@contextlib.contextmanager
def _in_force(mesh: Any) -> Iterator[None]:
    """Context manager that makes a mesh current, as `set_mesh` does, with `AxisType.Auto` axes."""
    mesh = with_axis_types(mesh, (AxisType.Auto,) * len(mesh.axis_names))
    around = config_states.concrete_mesh.swap_local(mesh)
    abstract_around = config_states.abstract_mesh.swap_local(mesh.abstract_mesh)
    try:
        yield
    finally:
        config_states.concrete_mesh.set_local(around)
        config_states.abstract_mesh.set_local(abstract_around)

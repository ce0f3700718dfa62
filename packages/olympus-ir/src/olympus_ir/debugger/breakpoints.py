# SPDX-License-Identifier: Apache-2.0
"""`breakpoint`, which opens a debugger when a traced program reaches it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..lax.callbacks import debug_callback, pure_callback
from ..lax.elementwise.conversion import stop_gradient
from ..lax.indexing.slicing import dynamic_index_in_dim
from ..lax.shaping.rearrangement import stack
from ..trees import pytrees
from ..types.shape_struct import ShapeDtypeStruct
from .command_line import CommandLineDebugger
from .frames import collect_frames, with_values

__all__ = ["breakpoint", "register_debugger"]

Debugger = Callable[..., None]

_debuggers: dict[str, tuple[int, Debugger]] = {}


def register_debugger(name: str, debugger: Debugger, priority: int) -> None:
    """Registers a debugger for `breakpoint`.

    Args:
      name: the debugger's name, used as ``backend=name``.
      debugger: a function of the frames, innermost first, and the keyword arguments of
        `breakpoint`.
      priority: if ``backend`` is not given, the debugger with the highest priority opens.

    Raises:
      ValueError: the name is already registered.

    Example:
      >>> register_debugger("silent", lambda frames, **options: None, -2)
    """
    if name in _debuggers:
        raise ValueError(f"a debugger named {name!r} is registered already")
    _debuggers[name] = (priority, debugger)


register_debugger("cli", lambda frames, **options: CommandLineDebugger(frames, **options).run(), -1)


def _chosen(name: str | None) -> Debugger:
    if name is None:
        return max(_debuggers.values(), key=lambda entry: entry[0])[1]
    if name not in _debuggers:
        known = ", ".join(map(repr, _debuggers))
        raise ValueError(f"there is no debugger named {name!r}; registered are {known}")
    return _debuggers[name][1]


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> Any:
    """Opens a debugger when the program reaches this point, even in compiled functions.

    The debugger knows some commands of Python's debugger. ``p`` and ``pp`` print an expression,
    ``u`` and ``d`` select the calling frame and the called frame, ``l`` shows the source, ``bt``
    shows the frames, ``locals`` shows the variables, ``c`` continues, ``q`` ends the program, and
    ``help`` lists the commands. Other input is printed as an expression.

    Args:
      backend: the name of a debugger; by default the registered debugger with the highest priority,
        initially ``"cli"``, the debugger at the command line.
      filter_frames: whether to omit frames of libraries.
      num_frames: the number of frames to keep; None for all.
      ordered: whether breakpoints and other ordered effects happen in program order.
      token: an array or pytree of arrays. The debugger opens once the token is computed. The
        returned token must be used, because unused computations are removed.
      **kwargs: options of the debugger. The debugger at the command line takes ``stdin`` and
        ``stdout``.

    Returns:
      ``token``, unchanged.

    Raises:
      ValueError: if both ``ordered`` and ``token`` are given, or the debugger is unknown.

    Example:
      >>> import io
      >>> from olympus_ir.lax.callbacks import effects_barrier
      >>> answers = io.StringIO()
      >>> x = 3
      >>> breakpoint(stdin=io.StringIO("p 2 + 3\\nc\\n"), stdout=answers)
      >>> effects_barrier(); print(answers.getvalue())
      Entering jdb:
      (jdb) 5
      (jdb)
    """
    if token is not None and ordered:
        raise ValueError("`ordered` and `token` are mutually exclusive arguments.")
    debugger = _chosen(backend)
    frames, arrays = collect_frames(sys._getframe(1), num_frames, filter_frames)

    def open_debugger(*values: Any) -> None:
        debugger(with_values(frames, values), **kwargs)

    if token is None:
        debug_callback(open_debugger, *arrays, ordered=ordered)
        return None
    return _with_token(open_debugger, token, arrays)


def _with_token(open_debugger: Callable[..., None], token: Any, arrays: Sequence[Any]) -> Any:
    """Returns the token once the debugger has closed.

    The callback's result selects one of two copies of the token. This prevents compilers from
    removing the callback. The derivative is the identity on the token.
    """
    leaves, tree = pytrees.tree_flatten(token)

    def opened(*values: Any) -> Any:
        open_debugger(*values[len(leaves) :])
        return np.zeros((), np.int32)

    closed = pure_callback(
        opened,
        ShapeDtypeStruct((), np.int32),
        *map(stop_gradient, (*leaves, *arrays)),
        vmap_method="sequential",
    )
    passed = [dynamic_index_in_dim(stack([leaf, leaf]), closed, keepdims=False) for leaf in leaves]
    return pytrees.tree_unflatten(tree, passed)

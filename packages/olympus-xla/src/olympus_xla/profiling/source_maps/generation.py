# SPDX-License-Identifier: Apache-2.0
"""Source maps of passes: stages of compilation whose results can be printed as text."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.settings.config import config

from ...calls.jit import jit
from .maps import SourceMap

__all__ = [
    "Pass",
    "SourceMapDump",
    "all_passes",
    "compile_with_env",
    "filter_passes",
    "generate_sourcemaps",
    "register_pass",
]


@dataclasses.dataclass(frozen=True, slots=True)
class SourceMapDump:
    """The text that a pass generates, with its source map.

    Attributes:
      source_map: the map.
      generated_code: the text.
      pass_name: the name of the pass.
    """

    source_map: SourceMap
    generated_code: str
    pass_name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Pass:
    """A stage of compilation.

    Attributes:
      name: the name of the stage.
      compile_fn: ``compile_fn(work_dir, f, f_args, f_kwargs, **kwargs)`` compiles a function.
      generate_dump: takes the result of ``compile_fn`` and the folder; returns a `SourceMapDump`.
    """

    name: str
    compile_fn: Callable[..., Any]
    generate_dump: Callable[[Any, str], SourceMapDump]


_passes: list[Pass] = []


def register_pass(pass_: Pass) -> None:
    """Adds a pass.

    Args:
      pass_: the pass.

    Raises:
      ValueError: a pass of this name already exists.
    """
    if any(known.name == pass_.name for known in _passes):
        raise ValueError(f"a pass named {pass_.name!r} is registered already")
    _passes.append(pass_)


def all_passes() -> Sequence[Pass]:
    """Returns all passes, in the order of compilation."""
    return list(_passes)


def filter_passes(regex: str) -> Sequence[Pass]:
    """Returns the passes whose names start with a match of a regular expression.

    Args:
      regex: the regular expression.
    """
    return [pass_ for pass_ in _passes if re.match(regex, pass_.name)]


def generate_sourcemaps(
    f: Callable[..., Any], passes: Sequence[Pass], **pass_kwargs: Any
) -> Callable[..., list[SourceMapDump]]:
    """Returns a function that takes a function's arguments, and returns a dump for each pass.

    Args:
      f: the function.
      passes: the passes.
      **pass_kwargs: further arguments of the passes' ``compile_fn``.

    Example:
      >>> from olympus import lax
      >>> dumps = generate_sourcemaps(lax.sin, filter_passes("jaxpr"))(1.0)
      >>> dumps[0].generated_code
      '{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }'
    """

    def generate(*args: Any, **kwargs: Any) -> list[SourceMapDump]:
        compiled: dict[Any, Any] = {}
        dumps = []
        with tempfile.TemporaryDirectory() as folder:
            for pass_ in passes:
                if pass_.compile_fn not in compiled:
                    compiled[pass_.compile_fn] = pass_.compile_fn(
                        folder, f, args, kwargs, **pass_kwargs
                    )
                dumps.append(pass_.generate_dump(compiled[pass_.compile_fn], folder))
        return dumps

    return generate


def compile_with_env(
    f: Callable[..., Any],
    f_args: Sequence[Any],
    f_kwargs: dict[str, Any],
    env_flags: dict[str, Any],
    compiler_flags: dict[str, Any],
) -> Any:
    """Compiles a function with the given flags and options.

    Args:
      f: the function.
      f_args: the positional arguments of the function.
      f_kwargs: the keyword arguments of the function.
      env_flags: configuration flags by name, set during the compilation.
      compiler_flags: the compiler's options.

    Returns:
      The compiled function.
    """
    before = {name: getattr(config, name) for name in env_flags}
    try:
        for name, value in env_flags.items():
            config.update(name, value)
        return jit(f).lower(*f_args, **f_kwargs).compile(compiler_options=dict(compiler_flags))
    finally:
        for name, value in before.items():
            config.update(name, value)

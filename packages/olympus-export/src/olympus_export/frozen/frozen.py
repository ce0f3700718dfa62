# SPDX-License-Identifier: Apache-2.0
"""Frozen functions: programs that run with their own weights."""

from __future__ import annotations

import functools
import os
import pathlib
import tempfile
from typing import Any, Literal

import numpy as np

from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.trees import pytrees
from olympus_xla.arrays.transfer import device_put
from olympus_xla.calls.jit import jit

from ..functions.reading import vet_programs
from .container import Parts, Port, opened, ports_of, sealed

__all__ = ["Frozen", "load_frozen"]

#: Largest accepted size of a function's file and of a weights file, in bytes.
LONGEST_FILE = 1 << 40


@boundary_class
class Frozen:
    """Function without its Python code: a program with weights, which can be saved.

    `freeze` makes a frozen function, and `load_frozen` reads it from a file. A call takes the
    function's arguments, except the arguments stored as weights.

    Attributes:
      weights: the stored arrays by name.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.weights: dict[str, np.ndarray] = parts.weights

    def __repr__(self) -> str:
        size = sum(array.nbytes for array in self.weights.values())
        return (
            f"Frozen({self.name}, {len(self.inputs)} inputs, {len(self.outputs)} outputs, "
            f"{len(self.weights)} weights of {size} bytes, for {', '.join(self.platforms)})"
        )

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._parts.exported.fun_name

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms that the program runs on."""
        return self._parts.exported.platforms

    @property
    def operands(self) -> tuple[Port, ...]:
        """The operands of the program in order, weights first."""
        avals = self._parts.exported.in_avals
        return ports_of(avals, self._parts.names, len(self.weights))

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The operands that a caller passes: the leaves of the arguments in order."""
        return self.operands[len(self.weights) :]

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The results of the program in order: the leaves of the function's result."""
        exported = self._parts.exported
        paths = pytrees.Structure(exported.out_tree).paths()
        names = [pytrees.keystr(path, simple=True, separator=".") or "result" for path in paths]
        return ports_of(exported.out_avals, names)

    @property
    def module(self) -> bytes:
        """The program: a portable artifact of StableHLO, which other programs compile with PJRT."""
        return self._parts.exported.mlir_module_serialized

    @property
    def compile_options(self) -> bytes:
        """XLA's ``CompileOptionsProto`` for the program, serialized."""
        return self._parts.options

    def mlir_module(self) -> str:
        """Returns the StableHLO program as text."""
        return self._parts.exported.mlir_module()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function.

        Args:
          *args: the arguments, without the stored weights.
          **kwargs: the keyword arguments.

        Raises:
          ValueError: the arguments do not have the expected structure or types, or the program is
            not for the platform of the devices.
        """
        return self._compiled(self._placed_weights, args, kwargs)

    call = __call__

    def call_flat(self, *inputs: Any) -> list[Any]:
        """Calls the function with the leaves of its arguments.

        Args:
          *inputs: an array for each of `inputs`.

        Returns:
          An array for each of `outputs`.

        Raises:
          ValueError: the number of arrays or their types are not those of `inputs`.
        """
        if len(inputs) != len(self.inputs):
            raise ValueError(
                f"{self.name} takes {len(self.inputs)} inputs "
                f"({', '.join(port.name for port in self.inputs)}), got {len(inputs)}"
            )
        tree = self._parts.exported.in_tree
        args, kwargs = pytrees.tree_unflatten(tree, [*self._placed_weights, *inputs])
        return pytrees.tree_leaves(self._compiled(*args, **kwargs))

    @functools.cached_property
    def _compiled(self) -> Any:
        return jit(self._parts.exported.call)

    @functools.cached_property
    def _placed_weights(self) -> list[Any]:
        return list(map(device_put, self.weights.values()))

    def save(
        self, path: str | os.PathLike[str], *, weights: Literal["inside", "beside"] = "inside"
    ) -> None:
        """Writes the function to a file.

        Args:
          path: the file. An existing file is replaced only after all data have been written.
          weights: ``"inside"`` to store the weights in the same file; ``"beside"`` to store them in
            a second file, whose name ends in ``.weights.safetensors``.

        Raises:
          ValueError: ``weights`` is neither of these words, or an array has a dtype that
            safetensors files do not have.
        """
        if weights not in ("inside", "beside"):
            raise ValueError(f'`weights` must be "inside" or "beside", got {weights!r}')
        path = pathlib.Path(path)
        beside = path.name + ".weights.safetensors" if weights == "beside" else None
        contents, stored = sealed(self._parts, self.outputs, beside)
        if beside is not None and stored is not None:
            _write(path.with_name(beside), stored)
        _write(path, contents)

    def to_bytes(self) -> bytes:
        """Returns the contents of the file that `save` writes, with the weights inside."""
        return sealed(self._parts, self.outputs)[0]

    @classmethod
    def from_bytes(cls, contents: bytes) -> Frozen:
        """Returns the function that `to_bytes` wrote.

        Raises:
          ValueError: the bytes are not a frozen function, or are damaged.
        """
        return cls(opened(bytes(contents), _refuse_beside))

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return Frozen.from_bytes, (self.to_bytes(),)


def load_frozen(path: str | os.PathLike[str], *, untrusted: bool = False) -> Frozen:
    """Reads a frozen function from a file.

    The file contains only data, so reading it runs no code. The program is checked before it is
    compiled, like an exported function.

    Args:
      path: the file that `Frozen.save` wrote.
      untrusted: whether the file may come from an untrusted source. Another process then reads the
        program first, so malicious bytes can crash only that process.

    Returns:
      The frozen function.

    Raises:
      OSError: the file, or the file of weights beside it, cannot be read.
      ValueError: the file is not a frozen function, or is damaged.

    Example:
      >>> import tempfile
      >>> from olympus import freeze, lax
      >>> path = tempfile.mkdtemp() + "/sine"
      >>> freeze(lax.sin, 0.0).save(path)
      >>> float(load_frozen(path)(0.0))
      0.0
    """
    path = pathlib.Path(path)
    parts = opened(_read(path), lambda name: _read(path.with_name(name)))
    if untrusted:
        vet_programs(parts.exported)
    return Frozen(parts)


def _refuse_beside(name: str) -> bytes:
    raise ValueError(f"the weights are in a file beside this one, {name}: use load_frozen")


def _read(path: pathlib.Path) -> bytes:
    size = path.stat().st_size
    if size > LONGEST_FILE:
        raise ValueError(f"{path} has {size} bytes, more than the {LONGEST_FILE} that are read")
    return path.read_bytes()


def _write(path: pathlib.Path, contents: bytes) -> None:
    """Writes a file under a temporary name and renames it. Readers never see an incomplete file."""
    descriptor, unfinished = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(contents)
        os.replace(unfinished, path)
    except BaseException:
        pathlib.Path(unfinished).unlink(missing_ok=True)
        raise

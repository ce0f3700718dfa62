# SPDX-License-Identifier: Apache-2.0
"""Valid calls of every public function, as expressions that OLYMPUS and JAX both evaluate.

Each file of the folder ``calls`` is a section: the calls of one module, one expression on each
line. An expression names modules by the abbreviations of `MODULES` and operands by the names in
`OPERANDS`::

    jnp.quantile(m, u, axis=1)
    jnp.{{sin cos}}(x)

A line with names in doubled braces stands for one line for each name. An operand without a dtype of
its own has the dtype of the case, so a line describes one call for each dtype. `sections` reads the
files, `operands_of` lists the operands of an expression, `operand` makes their NumPy arrays, and
`function` converts the expression to a function of its operands, which can be called, compiled or
transformed.

This module imports only NumPy and ml_dtypes, so both interpreters can import it.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import pathlib
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

MODULES = {
    "jnp": "numpy",
    "lax": "lax",
    "jsp": "scipy",
    "nn": "nn",
    "random": "random",
    "image": "image",
    "sparse": "experimental.sparse",
    "ode": "experimental.ode",
    "ops": "ops",
    "optimizers": "example_libraries.optimizers",
    "tree": "tree",
}

# Submodules that must be imported explicitly.
_SUBMODULES = (
    *("numpy.linalg", "numpy.fft", "lax.linalg", "nn.initializers"),
    *("scipy.cluster.vq", "scipy.fft", "scipy.integrate", "scipy.interpolate", "scipy.linalg"),
    *("scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.sparse.linalg"),
    *("scipy.spatial.transform", "scipy.special", "scipy.stats", "experimental.sparse.linalg"),
    *("export", "custom_batching", "custom_derivatives"),
)


# ---- operands ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Operand:
    """An array with pseudo-random elements, which are equal in every run.

    Attributes:
      shape: its shape.
      domain: the range of its elements.
      dtype: its dtype; the dtype of the case if None.
      kind: a further property: "sorted" elements, a "definite" matrix, a "key", or an "old key".
    """

    shape: tuple[int, ...] = ()
    domain: tuple[float, float] = (-2.0, 2.0)
    dtype: str | None = None
    kind: str = ""


OPERANDS = {
    # Operands of the dtype of the case.
    "s": Operand(),
    "x": Operand((4,)),
    "y": Operand((4,)),
    "w": Operand((4,), (1.0, 3.0)),
    "u": Operand((4,), (0.1, 0.9)),
    "c": Operand((3,), (-2.0, 2.0), kind="sorted"),
    "v": Operand((32,)),
    "m": Operand((2, 4)),
    "n": Operand((4, 3)),
    "a": Operand((3, 3), (1.0, 3.0)),
    "b": Operand((3, 3)),
    "h": Operand((3, 3), kind="definite"),
    "d": Operand((3,), (1.0, 3.0)),
    "t": Operand((2, 3, 4)),
    "e": Operand((2, 4, 4, 3)),
    "k": Operand((2, 2, 3, 5)),
    # Operands of a fixed dtype.
    "i": Operand((4,), (0, 2), "int32"),
    "j": Operand((), (0, 2), "int32"),
    "o": Operand((4,), (1, 4), "int32"),
    "p": Operand((4,), (0, 1), "bool"),
    "q": Operand((2, 4), (0, 1), "bool"),
    "f": Operand((4,), (0.1, 0.9), "float32"),
    "g": Operand((3, 3), (1.0, 3.0), "float32"),
    "z": Operand((4,), (-2.0, 2.0), "complex64"),
    "l": Operand((4,), (0, 255), "uint8"),
    "key": Operand(kind="key"),
    "old": Operand(kind="old key"),
}


def dtype_of(name: str) -> np.dtype:
    """Returns a dtype by its name; names of ml_dtypes are known, too."""
    return np.dtype(getattr(ml_dtypes, name, name))


def operands_of(expression: str) -> list[str]:
    """Returns the operands that an expression names, in the order of `OPERANDS`."""
    nodes = list(ast.walk(ast.parse(expression, mode="eval")))
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    named = {node.id for node in nodes if isinstance(node, ast.Name)}
    return [name for name in OPERANDS if name in named - bound]


def operand(name: str, dtype: str, batch: int | None = None) -> np.ndarray:
    """Returns the elements of an operand, or of ``batch`` operands stacked.

    Keys are returned as the words of their data.
    """
    declared = OPERANDS[name]
    count = 1 if batch is None else batch
    drawn = [_drawn(declared, name, dtype, number) for number in range(count)]
    return drawn[0] if batch is None else np.stack(drawn)


def _drawn(declared: Operand, name: str, dtype: str, number: int) -> np.ndarray:
    generator = np.random.default_rng((zlib.crc32(name.encode()), number))
    if declared.kind.endswith("key"):
        return generator.integers(0, 2**32, 2, dtype=np.uint32)
    kind = dtype_of(declared.dtype or dtype)
    low, high = declared.domain
    if kind == np.bool_:
        return generator.integers(0, 2, declared.shape).astype(kind)
    if np.issubdtype(kind, np.integer) or kind.name.startswith(("int", "uint")):
        low = 0 if kind.name.startswith("u") else np.ceil(low)
        values = generator.integers(
            int(low), max(int(high), int(low) + 1), declared.shape, endpoint=True
        )
    else:
        values = generator.uniform(low, high, declared.shape)
    if kind.kind == "c":
        values = values + 1j * generator.uniform(low, high, declared.shape)
    if declared.kind == "sorted":
        values = np.sort(values) + np.arange(declared.shape[0])
    if declared.kind == "definite":
        values = values @ np.conj(values.T) + 3 * np.eye(declared.shape[0])
    return np.asarray(values).astype(kind)


# ---- evaluation ----------------------------------------------------------------------------------


@functools.cache
def namespace(library: str) -> dict[str, Any]:
    """Returns the names in expressions besides operands: the modules of `library`, and NumPy."""
    root = importlib.import_module(library)
    found: dict[str, Any] = {"root": root, "np": np}
    for abbreviation, module in MODULES.items():
        found[abbreviation] = importlib.import_module(f"{library}.{module}")
    for module in _SUBMODULES:
        importlib.import_module(f"{library}.{module}")
    found["mesh"] = root.sharding.Mesh(root.devices()[:1], ("i",))
    return found


def function(expression: str, library: str) -> Callable[..., Any]:
    """Returns the expression as a function of `operands_of(expression)`, in their order."""
    parameters = ", ".join(operands_of(expression))
    return eval(f"lambda {parameters}: {expression}", namespace(library))


def functions_named(expression: str) -> set[str]:
    """Returns the dotted names of the functions in an expression: ``jnp.fft.fft``."""
    names = "|".join(MODULES)
    return set(re.findall(rf"\b(?:{names})(?:\.\w+)+", expression))


# ---- the table -----------------------------------------------------------------------------------

FOLDER = pathlib.Path(__file__).with_name("calls")
#: Calls of classes and of methods of their instances; many results are no arrays.
OBJECTS = pathlib.Path(__file__).with_name("objects")


def sections(*names: str, folder: pathlib.Path = FOLDER) -> dict[str, list[str]]:
    """Returns the expressions of the named sections of a folder, or of all."""
    files = {path.stem: path for path in sorted(folder.glob("*.txt"))}
    chosen = names or files
    return {name: list(_expressions(files[name])) for name in chosen}


def _expressions(path: pathlib.Path) -> Iterator[str]:
    for line in path.read_text("utf-8").splitlines():
        template = line.strip()
        if not template or template.startswith("#"):
            continue
        alternatives = re.search(r"\{\{(.*?)\}\}", template)
        if alternatives is None:
            yield template
            continue
        for name in alternatives[1].split():
            yield template.replace(alternatives[0], name)

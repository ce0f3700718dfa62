# SPDX-License-Identifier: Apache-2.0
"""Conversion of functions to serialized programs for other systems, such as a compiler in C++.

From the command line:

    python -m olympus.tools.olympus_to_ir --fn prog.fn \\
        --input_shapes '[("y", "f32[128,32]"), ("x", "f32[8,128]")]' \\
        --constants '{"z": 3.14159}' \\
        --ir_format HLO --ir_human_dest fn.txt --ir_dest fn.pb

The shapes are in the order of the program's parameters. Lists among the constants become arrays.
Read an HLO program with the version of XLA that wrote it.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from olympus_ir.types import dtypes
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_xla.calls.jit import jit

from .functions.exporting import export

__all__ = [
    "main",
    "olympus_to_hlo",
    "olympus_to_ir",
    "olympus_to_tf",
    "parse_shape_str",
    "set_up_flags",
    "tf_wrap_with_input_names",
]

InputShapes = Sequence[tuple[str, Any]]

_DTYPES = {
    "pred": "bool",
    **{
        f"{short}{bits}": f"{name}{bits}"
        for short, name in (("u", "uint"), ("s", "int"))
        for bits in (2, 4, 8, 16, 32, 64)
    },
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}
_SHAPE = re.compile(r"^(\w+)\[\s*((?:\d+\s*(?:,\s*\d+\s*)*)?)\]$")


def parse_shape_str(s: str) -> ShapeDtypeStruct:
    """Parses the type of an array in HLO's notation.

    Raises:
      ValueError: the text is not in this notation.

    Example:
      >>> parse_shape_str("f32[10,20]")
      ShapeDtypeStruct(shape=(10, 20), dtype=float32)
    """
    match = _SHAPE.match(s.strip())
    if match is None or match.group(1) not in _DTYPES:
        raise ValueError(
            f'Invalid shape {s}. Valid example: "f32[1,2,3]". Note that dtype must be one of '
            f"{list(_DTYPES)}"
        )
    shape = tuple(int(size) for size in match.group(2).split(",") if size.strip())
    return ShapeDtypeStruct(shape, dtypes.dtype(_DTYPES[match.group(1)]))


def olympus_to_ir(
    fn: Callable[..., Any],
    input_shapes: InputShapes,
    *,
    constants: Mapping[str, Any] | None = None,
    format: str,
) -> tuple[bytes, str]:
    """Converts a function to a serialized program.

    Args:
      fn: the function, which is called with keyword arguments.
      input_shapes: pairs of an argument's name and type, in the order of the program's parameters.
      constants: the values of other arguments.
      format: ``"HLO"``, or ``"TF"`` for a graph of TensorFlow.

    Returns:
      The program as bytes, and as text.

    Raises:
      ValueError: a name is in ``input_shapes`` and ``constants``, or the format is unknown.

    Example:
      >>> from olympus import lax
      >>> shapes = [("x", parse_shape_str("f32[2]"))]
      >>> data, text = olympus_to_ir(lax.neg, shapes, format="HLO")
      >>> "negate" in text
      True
    """
    constants = dict(constants or {})
    overlapping = {name for name, _ in input_shapes} & set(constants)
    if overlapping:
        raise ValueError(
            "Arguments appear in both `input_shapes` and `constants`: "
            f"{', '.join(sorted(overlapping))}"
        )
    values = {
        name: np.asarray(value) if isinstance(value, list) else value
        for name, value in constants.items()
    }
    if format not in ("HLO", "TF"):
        raise ValueError(f"There is no format {format!r}; write 'HLO' or 'TF'")

    def ordered_wrapper(*args: Any) -> Any:
        arguments = {name: arg for (name, _), arg in zip(input_shapes, args, strict=True)}
        return fn(**arguments, **values)

    types = [kind for _, kind in input_shapes]
    if format == "HLO":
        computation = jit(ordered_wrapper).lower(*types).compiler_ir("hlo")
        return computation.as_serialized_hlo_module_proto(), computation.as_hlo_text()
    return _as_graph(ordered_wrapper, input_shapes)


olympus_to_hlo = functools.partial(olympus_to_ir, format="HLO")
olympus_to_tf = functools.partial(olympus_to_ir, format="TF")


# ---- TensorFlow ----


def _tensorflow() -> Any:
    try:
        return importlib.import_module("tensorflow")
    except ImportError:
        raise ValueError("Conversion to TF graph requires TensorFlow to be installed.") from None


def _as_graph(function: Callable[..., Any], input_shapes: InputShapes) -> tuple[bytes, str]:
    tf = _tensorflow()
    exported = export(jit(function))(*(kind for _, kind in input_shapes))

    def call(*args: Any) -> Any:
        results = tf.raw_ops.XlaCallModule(
            args=args,
            version=exported.calling_convention_version,
            module=bytes(exported.mlir_module_serialized),
            Sout=[list(aval.shape) for aval in exported.out_avals],
            Tout=[tf.as_dtype(aval.dtype) for aval in exported.out_avals],
            platforms=[platform.upper() for platform in exported.platforms],
        )
        return [tf.identity(result, name=f"out{i}") for i, result in enumerate(results)]

    wrapped = tf_wrap_with_input_names(call, input_shapes)
    specs = [
        tf.TensorSpec(kind.shape, tf.as_dtype(kind.dtype), name) for name, kind in input_shapes
    ]
    graph = tf.function(wrapped, autograph=False).get_concrete_function(*specs).graph
    definition = graph.as_graph_def()
    return definition.SerializeToString(), str(definition)


def tf_wrap_with_input_names(
    f: Callable[..., Any], input_shapes: InputShapes
) -> Callable[..., Any]:
    """Returns a TensorFlow function with its arguments named in the graph.

    Args:
      f: the function.
      input_shapes: the names of arguments with their types.
    """
    tf = _tensorflow()

    @functools.wraps(f)
    def wrapper(*args: Any) -> Any:
        named = [
            tf.identity(arg, name=name) for (name, _), arg in zip(input_shapes, args, strict=True)
        ]
        return f(*named)

    return wrapper


# ---- the command line ----


def set_up_flags() -> argparse.ArgumentParser:
    """Returns the parser of the command's options."""
    parser = argparse.ArgumentParser(
        prog="python -m olympus.tools.olympus_to_ir", description="Writes a function as a program."
    )
    parser.add_argument("--fn", required=True, help="the function, as module.name")
    parser.add_argument("--input_shapes", required=True, help="pairs of names and types")
    parser.add_argument("--constants", default="{}", help="values of other arguments, by name")
    parser.add_argument(
        "--evaled_constants", default="{}", help="the same, but strings are evaluated"
    )
    parser.add_argument("--ir_format", default="HLO", choices=("HLO", "TF"), help="the format")
    parser.add_argument("--ir_dest", help="the file for the program")
    parser.add_argument("--ir_human_dest", help="the file for the text")
    return parser


def main(argv: Sequence[str]) -> None:
    """Runs the command.

    Args:
      argv: the name of the program and the options.
    """
    options = set_up_flags().parse_args(list(argv[1:]))
    module_name, _, name = options.fn.rpartition(".")
    function = getattr(importlib.import_module(module_name), name)
    shapes = [
        (name, parse_shape_str(kind)) for name, kind in ast.literal_eval(options.input_shapes)
    ]
    constants = dict(ast.literal_eval(options.constants))
    for name, value in ast.literal_eval(options.evaled_constants).items():
        constants[name] = ast.literal_eval(value) if isinstance(value, str) else value
    data, text = olympus_to_ir(function, shapes, constants=constants, format=options.ir_format)
    if options.ir_dest:
        with open(options.ir_dest, "wb") as binary:
            binary.write(data)
    if options.ir_human_dest:
        with open(options.ir_human_dest, "w") as readable:
            readable.write(text)

# SPDX-License-Identifier: Apache-2.0
"""Writes variants of the calls of `calls`, with further options and other shapes of operands.

Run it with an interpreter that has OLYMPUS, and compare the calls that it writes with JAX::

    python tools/differential/options.py build/options
    python tools/differential/sweep.py --calls build/options --jax ../jax/bin/python --modes trace
    python tools/differential/values.py --calls build/options --jax ../jax/bin/python --modes jit

The first comparison traces the calls for their types and errors, the second computes values too.

For each parameter that a call does not pass there is one call per value of `VALUES`; a parameter
without a row there is negated, or has another number, according to its default. The pairs of
`PAIRS` are passed together. `SHAPES` lists changes of the shapes of operands; each call is written
once for each change. Sections keep their names, and no call is repeated.
"""

from __future__ import annotations

import argparse
import ast
import functools
import inspect
import itertools
import pathlib
import sys
import zlib
from collections.abc import Callable, Iterator

import calls
import numpy as np

_DTYPES = ("'int8'", "'uint32'", "'float16'", "jnp.bfloat16", "'complex64'", "bool", "float")
_ACCUMULATORS = ("'float32'", "'bfloat16'", "'int32'", "'complex64'")
_PLACEMENTS = (
    *("root.devices()[0]", "root.P()"),
    "root.sharding.SingleDeviceSharding(root.devices()[0])",
)
_METHODS = (
    *("'scan'", "'sort'", "'compare_all'", "'scan_unrolled'", "'lu'", "'qr'", "'linear'"),
    *("'lower'", "'nearest'", "'midpoint'", "'average'", "'min'", "'dense'", "'ordinal'"),
)
_MODES = (
    *("'clip'", "'wrap'", "'fill'", "'drop'", "'promise_in_bounds'", "'raise'"),
    *("'full'", "'same'", "'valid'", "'constant'", "'nearest'", "'reflect'", "'mirror'"),
    *("'reduced'", "'complete'", "'r'", "'raw'"),
)
# Values of parameters, by their names. For some functions a value is invalid; then errors are
# compared.
VALUES: dict[str, tuple[str, ...]] = {
    "accuracy": ("None", "lax.AccuracyMode.HIGHEST", "lax.AccuracyMode.DEFAULT"),
    "alpha": ("0.5", "2"),
    "append": ("0", "x[:1]"),
    "args": ("()", "(2.0,)"),
    "assume_a": ("'gen'", "'sym'", "'pos'"),
    "atol": ("0", "0.5", "w"),
    "aweights": ("w", "w[:3]"),
    "axes": ("(0,)", "(-1,)", "(1, 0)", "(0, 1)", "0", "None"),
    "axis": ("0", "-1", "1", "(0, 1)", "(0,)", "()", "None", "3"),
    "axis1": ("-1", "0"),
    "axis2": ("-1", "0"),
    "axisa": ("0",),
    "axisb": ("0",),
    "axisc": ("0",),
    "b": ("w", "h", "2", "0.5"),
    "base": ("2", "2.5"),
    "batch_axis": ("0", "(0,)"),
    "bitorder": ("'big'", "'little'", "'middle'"),
    "boundary": ("'fill'", "'wrap'", "'symm'", "'even'", "'odd'", "'zeros'", "None"),
    "bw_method": ("'silverman'", "0.5", "'scott'"),
    "casting": ("'no'", "'equiv'", "'same_kind'", "'unsafe'", "'other'"),
    "copy": ("False", "True", "None"),
    "correction": ("1", "0.5", "2"),
    "count": ("1", "3", "-2"),
    "cval": ("1", "0.5"),
    "ddof": ("1", "0", "0.5", "4"),
    "decimals": ("1", "-1", "2"),
    "default": ("1", "2.5", "x"),
    "detrend": ("'constant'", "'linear'", "False"),
    "device": (*_PLACEMENTS, "'cpu'"),
    "dtype": (*_DTYPES, "None"),
    "dx": ("2", "0.5"),
    "fill_value": ("0", "-1", "2.5", "jnp.nan", "True"),
    "fillvalue": ("1", "0.5"),
    "fweights": ("o", "i"),
    "impl": ("'threefry2x32'", "'rbg'", "'unsafe_rbg'"),
    "implementation": ("None", "'xla'"),
    "index_dtype": ("'int8'", "'uint32'", "'int64'"),
    "indexing": ("'xy'", "'ij'"),
    "initial": ("1", "2.5", "-1", "True", "jnp.inf", "None"),
    "interpolation": ("'lower'", "'nearest'"),
    "kind": ("'stable'", "'quicksort'", "'symmetric'", "'upper'", "'other'"),
    "left": ("0", "0.5"),
    "length": ("2", "6"),
    "loc": ("1", "0.5", "w"),
    "mean": ("0", "0.5", "x[0]"),
    "method": _METHODS,
    "minlength": ("6", "0"),
    "mode": _MODES,
    "nan_policy": ("'propagate'", "'omit'", "'raise'"),
    "ndmin": ("0", "2", "4"),
    "norm": ("'ortho'", "'forward'", "'backward'", "'other'"),
    "nse": ("2", "9"),
    "offset": ("1", "-1"),
    "ord": ("1", "2", "0", "-1", "3", "jnp.inf", "'fro'", "'nuc'", "None"),
    "order": ("'C'", "'F'", "'K'", "'A'", "1"),
    "out": ("x", "None"),
    "out_dtype": _ACCUMULATORS,
    "out_sharding": _PLACEMENTS,
    "p": ("0.5", "u", "1", "None"),
    "period": ("2", "3.5"),
    "precision": (
        *("'highest'", "lax.Precision.HIGH", "'BF16_BF16_F32'", "('high', 'highest')", "None"),
    ),
    "preferred_element_type": (*_ACCUMULATORS, "'float16'", "None"),
    "range": ("(0, 1)", "(-1.5, 1.5)", "[(0, 1), (0, 1)]", "None"),
    "rcond": ("0.5", "1e-3", "None"),
    "right": ("True", "0.5"),
    "rtol": ("0.5", "1e-3", "w", "None"),
    "s": ("(2,)", "(2, 3)", "(4, 4)", "2", "None"),
    "scale": ("2", "0.5", "w", "'n'", "0"),
    "shape": ("()", "(4,)", "(2, 4)", "4", "(0,)", "None"),
    "sharding": _PLACEMENTS,
    "side": ("'left'", "'right'", "'both'"),
    "size": ("1", "3", "6", "0", "None"),
    "sorter": ("jnp.arange(3)", "i"),
    "to_begin": ("0", "x"),
    "to_end": ("0", "x"),
    "trans": ("1", "2", "'T'", "'C'", "'N'"),
    "trim": ("'f'", "'b'", "'fb'"),
    "type": ("1", "2", "3", "4"),
    "unroll": ("2", "True", "0"),
    "UPLO": ("'L'", "'U'", "'X'"),
    "weights": ("w", "o", "m", "None"),
    "where": ("p", "q", "True", "False", "p[:1]", "None", "i"),
    "window": ("'hann'", "'boxcar'", "w"),
    "x": ("x", "w"),
    "y": ("x", "m"),
    # JAX does not have these.
    **dict.fromkeys(("batch", "cache", "checkpoints", "chunk_size", "compile_budget"), ()),
    **dict.fromkeys(
        ("control_flow", "defining", "max_steps", "max_traces", "progress", "tiers"), ()
    ),
}
# Parameters that are passed together.
PAIRS: list[dict[str, tuple[str, ...]]] = [
    {"axis": ("0", "-1", "(0, 1)", "None"), "keepdims": ("True",)},
    {"axis": ("0", "-1"), "where": ("p", "q")},
    {"axis": ("0", "-1"), "dtype": ("'int8'", "'float16'", "'complex64'")},
    {"axis": ("0", "-1"), "norm": ("'ortho'", "'forward'")},
    {"where": ("p", "q", "False"), "initial": ("1", "2.5")},
    {"where": ("p", "q"), "dtype": ("'int8'", "'float16'")},
    {"where": ("p", "q"), "ddof": ("1",)},
    {"size": ("3", "6"), "fill_value": ("-1", "2.5")},
    {"mode": ("'fill'", "'clip'"), "fill_value": ("-1", "2.5")},
    {"precision": ("'highest'",), "preferred_element_type": _ACCUMULATORS},
]
# Changes of operands, by the minimal number of dimensions of the operand.
SHAPES: dict[str, tuple[int, str]] = {
    "empty": (1, "{}[:0]"),
    "one element": (1, "{}[:1]"),
    "scalar": (1, "{}[0]"),
    "transposed": (2, "{}.T"),
    "batched": (0, "{}[None]"),
    "no columns": (2, "{}[..., :0]"),
    "reversed": (1, "{}[::-1]"),
}


@functools.cache
def _operands() -> dict[str, np.ndarray]:
    return {name: calls.operand(name, "float32") for name in calls.OPERANDS}


@functools.cache
def parameters(function: str) -> dict[str, inspect.Parameter]:
    """Returns the parameters of a function or method of OLYMPUS that may be passed by name."""
    if function.startswith("np."):
        return {}
    names = calls.namespace("olympus")
    arrays = {name: names["jnp"].asarray(value) for name, value in _operands().items()}
    try:
        signature = inspect.signature(eval(function, {**names, **arrays}))
    except Exception:
        return {}
    return {
        name: parameter
        for name, parameter in signature.parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and name[0] != "_"
    }


def values(parameter: inspect.Parameter) -> tuple[str, ...]:
    """Returns the values of a parameter, as expressions."""
    default = parameter.default
    if parameter.name in VALUES:
        return VALUES[parameter.name]
    if isinstance(default, bool):
        return (str(not default),)
    if isinstance(default, int):
        return str(default + 1), "-1"
    if isinstance(default, float):
        return repr(default + 0.5), "2"
    return ("True", "2") if default is None else ()


def options(call: ast.Call) -> Iterator[dict[str, str]]:
    """Yields the arguments to add to a call, by their names."""
    known = parameters(ast.unparse(call.func))
    passed = {*list(known)[: len(call.args)], *(keyword.arg for keyword in call.keywords)}
    free = {name: each for name, each in known.items() if name not in passed}
    for name, parameter in free.items():
        for value in values(parameter):
            yield {name: value}
    for pair in PAIRS:
        if set(pair) <= set(free):
            for chosen in itertools.product(*pair.values()):
                yield dict(zip(pair, chosen, strict=True))


def with_options(expression: str) -> Iterator[str]:
    """Yields variants of an expression, one for each option of each call in it."""
    tree = ast.parse(expression, mode="eval")
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
        given = call.keywords
        for added in options(call):
            call.keywords = given + [
                ast.keyword(name, ast.parse(value, mode="eval").body)
                for name, value in added.items()
            ]
            yield ast.unparse(tree)
        call.keywords = given


class _Replaced(ast.NodeTransformer):
    """Replaces the names of operands by expressions."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Returns the expression for a name, or the name."""
        text = self.names.get(node.id)
        return ast.parse(text, mode="eval").body if text else node


def with_shapes(expression: str) -> Iterator[str]:
    """Yields variants of an expression, one for each change of the shapes of its operands."""
    names = [name for name in calls.operands_of(expression) if calls.OPERANDS[name].kind != "key"]
    for dimensions, change in SHAPES.values():
        changed = {
            name: change.format(name)
            for name in names
            if len(calls.OPERANDS[name].shape) >= dimensions
        }
        if changed:
            tree = _Replaced(changed).visit(ast.parse(expression, mode="eval"))
            yield ast.unparse(tree)


# The kinds of variants. Each maps an expression to its variants.
VARIANTS: dict[str, Callable[[str], Iterator[str]]] = {
    "options": with_options,
    "shapes": with_shapes,
}


def write(folder: pathlib.Path, kinds: list[str], sample: int) -> int:
    """Writes the variants of all calls, a file for each section; returns their number."""
    folder.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    for section, expressions in calls.sections().items():
        lines = []
        for expression in expressions:
            for kind in kinds:
                for line in VARIANTS[kind](expression):
                    if line not in seen and zlib.crc32(line.encode()) % sample == 0:
                        lines.append(line)
                    seen.add(line)
        (folder / f"{section}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return len(seen)


def main() -> int:
    """Writes the variants of all calls into a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="the folder of the calls")
    parser.add_argument("--kinds", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--sample", type=int, default=1, help="write one call in so many")
    given = parser.parse_args()
    print(f"{write(given.folder, given.kinds, given.sample)} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())

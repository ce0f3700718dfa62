# SPDX-License-Identifier: Apache-2.0
"""``python -m olympus frozen``: shows, runs and unpacks files of frozen functions."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir.loading import deferred

from .layout import bytes_text, section

if TYPE_CHECKING:
    import olympus_export
    from olympus_export.frozen import safetensors
else:
    olympus_export = deferred("olympus_export", milliseconds=100.0)
    safetensors = deferred("olympus_export.frozen.safetensors", milliseconds=1.0)

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    """Adds the command to the command line."""
    text = "shows, runs or unpacks the file of a frozen function"
    parser = commands.add_parser("frozen", help=text, description=text.capitalize() + ".")
    actions = parser.add_subparsers(title="actions", metavar="action", required=True)
    info = _action(actions, "info", "shows inputs, outputs and weights", _info)
    info.add_argument("--json", action="store_true", help="print JSON")
    run = _action(actions, "run", "runs the function on arrays in .npy files", _run)
    run.add_argument(
        *("-i", "--input"),
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="the .npy file of an input, by its name or in the order of inputs",
    )
    run.add_argument("-o", "--output", metavar="FILE", help="write the results to this .npz file")
    extract = _action(actions, "extract", "writes the parts for a program that uses PJRT", _extract)
    extract.add_argument("folder", help="the folder for the parts; it is created")


def _action(actions: Any, name: str, text: str, run: Any) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=text, description=text.capitalize() + ".")
    parser.add_argument("file", help="the file that Frozen.save wrote")
    parser.add_argument(
        "--untrusted", action="store_true", help="parse the program in another process first"
    )
    parser.set_defaults(run=lambda options: _guarded(run, options))
    return parser


def _guarded(run: Any, options: argparse.Namespace) -> int:
    """Runs an action and returns 0; for errors in files or arguments, prints them and returns 1."""
    try:
        run(olympus_export.load_frozen(options.file, untrusted=options.untrusted), options)
    except (OSError, ValueError) as error:
        print(f"{options.file}: {error}", file=sys.stderr)
        return 1
    return 0


def _type_text(port: Any) -> str:
    return f"{port.dtype}[{', '.join(map(str, port.shape))}]"


def _facts(frozen: Any) -> dict[str, Any]:
    return {
        "name": frozen.name,
        "platforms": list(frozen.platforms),
        "operands": [port._asdict() for port in frozen.operands],
        "results": [port._asdict() for port in frozen.outputs],
        "module_bytes": len(frozen.module),
        "weights_bytes": sum(array.nbytes for array in frozen.weights.values()),
    }


def _info(frozen: Any, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(_facts(frozen), indent=2))
        return
    section(
        frozen.name,
        {
            "platforms": ", ".join(frozen.platforms),
            "program": bytes_text(len(frozen.module)),
            "weights": bytes_text(sum(array.nbytes for array in frozen.weights.values())),
        },
    )
    weights = [port for port in frozen.operands if port.is_weight]
    for title, ports in (
        ("Inputs", frozen.inputs),
        ("Outputs", frozen.outputs),
        ("Weights", weights),
    ):
        section(title, {port.name: _type_text(port) for port in ports} or {"none": ""})


def _run(frozen: Any, options: argparse.Namespace) -> None:
    results = frozen.call_flat(*_inputs(frozen.inputs, options.input))
    named = {
        port.name: np.asarray(result) for port, result in zip(frozen.outputs, results, strict=True)
    }
    if options.output is not None:
        np.savez(options.output, allow_pickle=False, **named)
        return
    for name, value in named.items():
        print(f"{name} = {np.array2string(value, separator=', ')}")


def _inputs(ports: Sequence[Any], texts: Sequence[str]) -> list[np.ndarray]:
    """Loads the input files; returns their arrays in the order of ``ports``."""
    names = [port.name for port in ports]
    in_order = iter([text for text in texts if text.partition("=")[0] not in names])
    by_name = {
        name: path
        for name, equals, path in (text.partition("=") for text in texts)
        if equals and name in names
    }
    paths = {name: by_name.get(name) or next(in_order, None) for name in names}
    missing = [name for name, path in paths.items() if path is None]
    left = list(in_order)
    if missing or left:
        raise ValueError(
            f"the inputs are {', '.join(names) or 'none'}; "
            + (f"missing: {', '.join(missing)}" if missing else f"too many: {', '.join(left)}")
            + "; pass each input as --input FILE or --input NAME=FILE"
        )
    return [np.load(str(paths[port.name])).astype(port.dtype, copy=False) for port in ports]


def _extract(frozen: Any, options: argparse.Namespace) -> None:
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "module.mlirbc").write_bytes(frozen.module)
    (folder / "compile_options.pb").write_bytes(frozen.compile_options)
    (folder / "weights.safetensors").write_bytes(safetensors.write(frozen.weights, {}))
    (folder / "signature.json").write_text(json.dumps(_facts(frozen), indent=2) + "\n")
    for path in sorted(folder.iterdir()):
        print(path)

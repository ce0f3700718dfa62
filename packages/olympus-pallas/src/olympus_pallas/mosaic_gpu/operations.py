# SPDX-License-Identifier: Apache-2.0
"""Primitives of a GPU's threads: copies, barriers, products, atomic updates.

The parameter ``tree`` of these primitives is the structure of the operands. Each operand is a
reference with its transforms, or an array with None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.diagnostics.documents import Concatenation, Document, Text
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.print_rules import printing_rules
from olympus_ir.references.primitives import ref_and_transforms
from olympus_ir.references.transforms import transformed_aval
from olympus_ir.rules.references import shown_view
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.effects import read_effect, write_effect

from ..operations.effects import thread_effect

__all__ = ["aval_of_view", "bind_operation", "is_reference", "operation", "operations"]


_EFFECTS = frozenset({thread_effect, read_effect, write_effect})

# All primitives that `operation` has made, by name.
operations: dict[str, Primitive] = {}


def operation(name: str) -> Primitive:
    """Returns a new primitive whose operands are references and arrays."""
    primitive = Primitive.declare(name, multiple_results=True)
    primitive.takes_refs = True
    primitive.spreads_varying = False

    @primitive.def_effectful_abstract_eval
    def _types(*avals: Any, out_avals: Sequence[Any], **params: Any) -> Any:
        has_refs = any(aval.is_ref for aval in avals)
        return list(out_avals), _EFFECTS if has_refs else frozenset({thread_effect})

    printing_rules.define(primitive, _print)
    operations[name] = primitive
    return primitive


def is_reference(value: Any) -> bool:
    """Returns whether a value is a reference or a view of one."""
    if getattr(value, "transforms", None) is not None:
        return True
    try:
        return get_aval(value).is_ref
    except TypeError:
        return False


def aval_of_view(ref: Any) -> ShapedArray:
    """Returns the type of a view."""
    base, transforms = ref_and_transforms("a view", ref)
    return transformed_aval(get_aval(base).inner_aval, transforms)


def bind_operation(
    primitive: Primitive, operands: Sequence[Any], out_avals: Sequence[Any] = (), **params: Any
) -> Any:
    """Binds an operation to references, arrays and None."""
    parts: list[Any] = []
    for operand in operands:
        if operand is not None and is_reference(operand):
            parts += ref_and_transforms(primitive.name, operand)
        else:
            parts += [operand, None]
    flat, tree = pytrees.tree_flatten(tuple(parts))
    flat = [np.int32(leaf) if type(leaf) is int else leaf for leaf in flat]
    return primitive.bind(*flat, tree=tree, out_avals=tuple(out_avals), **params)


def _print(equation: Equation, printer: Any) -> Any:
    params = equation.params
    parts = pytrees.tree_unflatten(params["tree"], equation.invars)
    shown: list[Document] = []
    for value, transforms in zip(parts[::2], parts[1::2], strict=True):
        if value is None:
            continue
        if shown:
            shown.append(Text(" "))
        is_ref = transforms is not None
        shown.append(shown_view(printer, value, transforms) if is_ref else printer.atom(value))
    rest = sorted(item for item in params.items() if item[0] not in ("tree", "out_avals"))
    text: list[Document] = []
    if equation.outvars:
        text = [printer.binders(equation.outvars), Text(" = ")]
    name = Text(equation.primitive.name, annotations=printer.annotations(equation))
    return Concatenation([*text, name, printer.parameters(rest), Text(" "), *shown])

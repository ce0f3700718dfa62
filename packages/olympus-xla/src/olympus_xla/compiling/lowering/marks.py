# SPDX-License-Identifier: Apache-2.0
"""Contexts that add the attributes of marks to operations; see `olympus_ir.programs.marks`.

A mark attaches attributes to all operations of a block of code.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from olympus_ir.diagnostics.name_stacks import Mark, attributes_of

from . import mlir

_NAME = "mhlo.frontend_attributes"


def frontend_attributes(attributes: Mapping[str, Any] | None, texts: Mapping[str, str]) -> Any:
    """Returns ``attributes`` with ``texts`` added to their frontend attributes."""
    attributes = dict(attributes or {})
    written = attributes.get(_NAME)
    found = {} if written is None else {entry.name: entry.attr for entry in written}
    found.update({name: mlir.string(text) for name, text in texts.items()})
    attributes[_NAME] = mlir.dictionary(found)
    return attributes


def annotate(value: Any, texts: Mapping[str, str]) -> None:
    """Adds texts for the compiler to the operation that made a value. Does nothing for inputs."""
    operation = value.owner
    if hasattr(operation, "attributes"):
        attributes = operation.attributes
        written = {_NAME: attributes[_NAME]} if _NAME in attributes else {}
        attributes[_NAME] = frontend_attributes(written, texts)[_NAME]


class _Marking:
    """Mixin of lowering contexts, which adds the attributes of marks to operations."""

    __slots__ = ()

    def _marked(self: Any, name: str, attributes: Any) -> Any:
        equation = self.equation
        names = equation.source_info.name_stack if equation is not None else ()
        texts = attributes_of(names) if names and not name.endswith(".return") else {}
        return frontend_attributes(attributes, texts) if texts else attributes

    def create(
        self: Any, name: str, result_type: Any, operands: Any = (), attributes: Any = None
    ) -> Any:
        return super().create(name, result_type, operands, self._marked(name, attributes))  # type: ignore[misc]

    def operation(
        self: Any,
        name: str,
        result_types: Any,
        operands: Any = (),
        attributes: Any = None,
        *,
        regions: int = 0,
    ) -> Any:
        marked = self._marked(name, attributes)
        return super().operation(name, result_types, operands, marked, regions=regions)  # type: ignore[misc]


def context_class(plain: type) -> type:
    """Returns the given class of contexts, or a subclass that adds the attributes of marks.

    The subclass is returned if the process has marks.
    """
    return _marking(plain) if Mark.are_used else plain


@functools.cache
def _marking(plain: type) -> type:
    return type(f"Marked{plain.__name__}", (_Marking, plain), {"__slots__": ()})

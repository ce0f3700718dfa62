# SPDX-License-Identifier: Apache-2.0
"""Traced programs of calls, and their kinds.

The kind of a program is chosen once, when it is traced. Evaluators run each kind in its own way; no
call asks again what the program contains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...types.references import check_aliases
from ..olympuspr import ClosedOlympuspr

__all__ = [
    "ProgramWithReferences",
    "TracedProgram",
    "add_kind_of_program",
    "traced_program",
]


class TracedProgram:
    """Program of a traced function, with the structure of its result.

    Instances of this class itself are plain programs, of arrays alone; subclasses are for programs
    that are run in another way. `traced_program` chooses the class.

    Attributes:
      closed: the program. Its first inputs are the ``hoisted`` values.
      out_tree: the structure of the result.
      params: the parameters of the `jit` equation that calls it.
      hoisted: tracers of outer traces, and references, that the function closes over.
      in_tree: the structure of ``(args, kwargs)`` without static ones; None for flat operands.
      executables: the compiled forms that the evaluator keeps.
    """

    __slots__ = ("closed", "executables", "hoisted", "in_tree", "out_tree", "params")

    # True if references are among the inputs.
    has_refs = False
    # True if the program has values of high types, which consist of several arrays.
    has_high = False

    def __init__(
        self,
        closed: ClosedOlympuspr,
        out_tree: Any,
        params: dict[str, Any],
        hoisted: list[Any],
        in_tree: Any = None,
    ) -> None:
        self.closed = closed
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.params = params
        self.hoisted = hoisted
        self.executables: dict[Any, Any] = {}

    def check_operands(self, leaves: Sequence[Any]) -> None:
        """Raises if the program cannot take the operands together; arrays are always valid."""


class ProgramWithReferences(TracedProgram):
    """Program with references among its inputs. It is run in a pure form."""

    __slots__ = ()

    has_refs = True

    def check_operands(self, leaves: Sequence[Any]) -> None:
        """Raises ValueError if a reference occurs twice among the operands."""
        check_aliases(self.closed.debug_info, self.hoisted, leaves)


def _has_references(closed: ClosedOlympuspr) -> bool:
    return any(var.aval.is_ref for var in closed.jaxpr.invars)


# The special kinds of programs, in the order in which they are tried.
_kinds: list[tuple[Callable[[ClosedOlympuspr], bool], type[TracedProgram]]] = [
    (_has_references, ProgramWithReferences)
]


def add_kind_of_program(
    applies: Callable[[ClosedOlympuspr], bool], kind: type[TracedProgram]
) -> None:
    """Adds a kind of programs, which is tried after the existing kinds.

    Args:
      applies: returns whether a program is of the kind.
      kind: the class of such programs.
    """
    _kinds.append((applies, kind))


def traced_program(
    closed: ClosedOlympuspr,
    out_tree: Any,
    params: dict[str, Any],
    hoisted: list[Any],
    in_tree: Any = None,
) -> TracedProgram:
    """Returns the traced program of the first kind that applies; see `TracedProgram`."""
    kind = next((kind for applies, kind in _kinds if applies(closed)), TracedProgram)
    return kind(closed, out_tree, params, hoisted, in_tree)

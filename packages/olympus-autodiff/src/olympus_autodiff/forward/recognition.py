# SPDX-License-Identifier: Apache-2.0
"""Recognition of functions of eigenvalues and singular values, before they are differentiated.

The derivative of V g(w) V^H exists where eigenvalues are equal, but the tangents of w and V do not.
Under the flag ``olympus_strong_zeros``, a differentiated function therefore runs under a
`RecognitionTrace`. Each result of ``eigh``, ``svd`` and ``eig``, and each expression of such
results, becomes a `RecognizedTracer`, which describes the expression by a `Form`.
`recognition_rules` derive the form of a primitive's result from the forms of its operands. If an
expression is a smooth function of the matrix, a rule computes this function directly. An
operation without a matching rule is applied to the values of the expressions. A value is computed
when it is first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import Olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import (
    Trace,
    Tracer,
    current,
    evaluation_trace,
    find_tracers,
    register_tracer_type,
    set_current_trace,
)
from olympus_ir.trees import pytrees

from ..tables import recognition_rules
from ..zeros import aval_of

__all__ = ["Inlined", "RecognitionTrace", "RecognizedTracer", "Solved", "recognizing"]


class Solved(NamedTuple):
    """A smooth function of a matrix, to which a recognition rule has matched an expression.

    Attributes:
      compute: returns the value of the function, when called under the parent of the
        `RecognitionTrace`.
    """

    compute: Callable[[], Any]


class Inlined(NamedTuple):
    """Results that a rule found by running a primitive's program operation by operation.

    Attributes:
      results: the results. Each is a `RecognizedTracer` or another value.
    """

    results: Sequence[Any]


@register_tracer_type
class RecognizedTracer(Tracer):
    """Tracer of an expression of eigenvalues, eigenvectors or singular vectors.

    Attributes:
      form: the expression.
    """

    __slots__ = ("_aval", "_compute", "_known", "form")

    def __init__(
        self, trace: RecognitionTrace, aval: Any, form: Any, compute: Callable[[], Any]
    ) -> None:
        self._trace = trace
        self._aval = aval
        self.form = form
        self._compute = compute
        self._known: Any = None

    @property
    def aval(self) -> Any:
        return self._aval

    def plain(self) -> Any:
        """Returns the value of the expression, which the parent trace computes on first use."""
        if self._known is None:
            self._known = self._compute()
        return self._known

    def concrete_or_none(self) -> Any:
        value = self.plain()
        return value.concrete_or_none() if isinstance(value, Tracer) else value

    def __float__(self) -> float:
        return float(self.plain())

    def __complex__(self) -> complex:
        return complex(self.plain())


class RecognitionTrace(Trace):
    """Trace that applies `recognition_rules`, and passes other operations on to its parent."""

    __slots__ = ("_is_inlining",)

    def __init__(self, parent: Trace) -> None:
        super().__init__()
        self.parent: Trace = parent  # pyright: ignore[reportIncompatibleVariableOverride]
        self._is_inlining = False

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        if self._is_inlining and not find_tracers(args):
            # Operations on constants are evaluated immediately, so that rules can read the elements
            # of their results, such as the elements of an identity matrix.
            return primitive.bind_with_trace(evaluation_trace, args, params)
        rule = recognition_rules.rules.get(primitive) or recognition_rules.find(primitive)
        if rule is not None:
            found = rule(self, args, params)
            if found is not None:
                return self._results(primitive, args, params, found)
        return primitive.bind_with_trace(self.parent, list(map(self.plain, args)), params)

    def _results(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any], found: Any
    ) -> Any:
        """Returns the results of a primitive from the value that its recognition rule returned."""
        if isinstance(found, Inlined):
            return found.results
        out_avals, _ = primitive.infer(tuple(map(aval_of, args)), params)
        if isinstance(found, Solved):
            aval: Any = out_avals[0]
            with set_current_trace(self.parent):
                return lax.convert_element_type(found.compute(), aval.dtype)
        bound: list[Any] = []

        def bind() -> Any:
            if not bound:
                plain = list(map(self.plain, args))
                with set_current_trace(self.parent):
                    bound.append(primitive.bind_with_trace(self.parent, plain, params))
            return bound[0]

        if not primitive.multiple_results:
            return RecognizedTracer(self, out_avals[0], found, bind)
        return [
            RecognizedTracer(self, aval, form, lambda place=position: bind()[place])
            for position, (aval, form) in enumerate(zip(out_avals, found, strict=True))
        ]

    def inline(self, olympuspr: Olympuspr, consts: Sequence[Any], args: Sequence[Any]) -> Inlined:
        """Runs a program under this trace, operation by operation."""
        before, self._is_inlining = self._is_inlining, True
        try:
            with set_current_trace(self):
                return Inlined(eval_olympuspr(olympuspr, consts, *args))
        finally:
            self._is_inlining = before

    def form_of(self, value: Any) -> Any:
        """Returns the form of a `RecognizedTracer` of this trace; None for other values."""
        if value.__class__ is RecognizedTracer and value._trace is self:
            return value.form
        return None

    def plain(self, value: Any) -> Any:
        """Returns the value of a `RecognizedTracer` of this trace, and other values unchanged."""
        if value.__class__ is RecognizedTracer and value._trace is self:
            return value.plain()
        return value

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, args: Any, **options: Any
    ) -> Sequence[Any]:
        with set_current_trace(self.parent) as parent:
            plain = list(map(self.plain, args))
            return parent.process_custom_jvp_call(primitive, fun, jvp, plain, **options)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, args: Any, **options: Any
    ) -> Sequence[Any]:
        with set_current_trace(self.parent) as parent:
            plain = list(map(self.plain, args))
            return parent.process_custom_vjp_call(primitive, fun, fwd, bwd, plain, **options)


def recognizing(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that runs ``fun`` under a `RecognitionTrace`.

    Values replace the tracers of this trace in the results.
    """

    def recognized(*args: Any) -> Any:
        trace = RecognitionTrace(current.trace)
        try:
            with set_current_trace(trace):
                result = fun(*args)
            return pytrees.tree_map(trace.plain, result)
        finally:
            trace.finished = True

    return recognized

# SPDX-License-Identifier: Apache-2.0
"""Recognition of elementwise functions of eigenvalues, and of factors that they scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import Tracer

from ..forward.recognition import RecognitionTrace
from ..tables import recognition_rules
from ..zeros import aval_of
from .forms import REPEATED, VALUE, Form, merged, number_of, product

__all__: list[str] = []


@recognition_rules.derive("elementwise")
def _of_elementwise(primitive: Primitive) -> Callable[..., Form | None] | None:
    """Returns the rule that composes an elementwise primitive with functions of eigenvalues.

    Returns None for other primitives.
    """
    if not primitive.elementwise or primitive.multiple_results:
        return None
    return lambda trace, args, params: _composed(primitive, trace, args, params)


def _composed(
    primitive: Primitive, trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]
) -> Form | None:
    """Returns the form of a primitive applied to functions of eigenvalues, or to numbers."""
    forms = [trace.form_of(arg) for arg in args]
    known_forms = [form for form in forms if form is not None]
    if not known_forms or not all(form.is_of_values for form in known_forms):
        return None
    axes = merged(known_forms)
    if any(form.source is not known_forms[0].source for form in known_forms) or axes is None:
        return None
    if [label for label, _ in axes].count(VALUE) != 1:
        return None
    functions: list[Callable[[Any], Any]] = []
    for arg, form in zip(args, forms, strict=True):
        function = _constant(arg) if form is None else form.function
        if function is None:
            return None
        functions.append(function)
    return Form(
        known_forms[0].source,
        axes,
        lambda x: primitive.bind(*[function(x) for function in functions], **params),
    )


def _constant(value: Any) -> Callable[[Any], Any] | None:
    """Returns a number as a function of eigenvalues; None if a value is not a known number."""
    number = number_of(value)
    if number is None:
        return None
    element = np.asarray(number, aval_of(value).dtype)
    return lambda x: lax.broadcast_in_dim(element, aval_of(x).shape, ())


# ---- scaled factors ----


@recognition_rules.define(lax.mul_p)
def _mul(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Form | None:
    form = _composed(lax.mul_p, trace, args, params)
    if form is not None:
        return form
    for factor, other in (args, args[::-1]):
        form = _scaled(trace, factor, other, lambda x: x) or _on_diagonal(trace, factor, other)
        if form is not None:
            return form
    return None


@recognition_rules.define(lax.div_p)
def _div(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Form | None:
    form = _composed(lax.div_p, trace, args, params)
    return form or _scaled(trace, args[0], args[1], lambda x: lax.integer_pow(x, -1))


@recognition_rules.define(lax.neg_p)
def _neg(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Form | None:
    form = _composed(lax.neg_p, trace, args, params)
    return form or _mapped(trace, args[0], lax.neg)


@recognition_rules.define(lax.convert_element_type_p)
def _convert(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Form | None:
    form = _composed(lax.convert_element_type_p, trace, args, params)
    if form is None and np.issubdtype(params["new_dtype"], np.inexact):
        form = _mapped(trace, args[0], lambda x: lax.convert_element_type(x, params["new_dtype"]))
    return form


@recognition_rules.define(lax.conj_p)
def _conj(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Form | None:
    form = _composed(lax.conj_p, trace, args, params)
    if form is None:
        form = _mapped(trace, args[0], lax.conj)
        if form is not None and form.other is not None:
            return None
        form = form and form.replace(is_conjugate=not form.is_conjugate)
    return form


@recognition_rules.define(lax.copy_p)
def _copy(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Form | None:
    return trace.form_of(args[0])


@recognition_rules.define(lax.select_n_p)
def _select(trace: RecognitionTrace, args: Sequence[Any], params: dict[str, Any]) -> Form | None:
    form = _composed(lax.select_n_p, trace, args, params)
    if form is not None or len(args) != 3:
        return form
    which, when_false, when_true = args
    if number_of(when_false) == 0:
        return _on_diagonal(trace, when_true, which)
    return None


def _mapped(trace: RecognitionTrace, arg: Any, change: Callable[[Any], Any]) -> Form | None:
    """Returns the form of ``change(arg)``; None if it has no form.

    Args:
      trace: the trace of the operand.
      arg: an expression with the elements ``factor[i, k] * g(w[k])``; see `Form`.
      change: a linear elementwise function.
    """
    form = trace.form_of(arg)
    if form is None or form.is_of_values:
        return None
    function = form.function
    return form.replace(function=lambda x: change(function(x)))


def _scaled(
    trace: RecognitionTrace, arg: Any, scale: Any, change: Callable[[Any], Any]
) -> Form | None:
    """Returns the form of the product ``arg * change(scale)``; None if it has no form.

    Args:
      trace: the trace of the operands.
      arg: an expression with the elements ``factor[i, k] * g(w[k])``; see `Form`.
      scale: a number, or a function of the same eigenvalues w.
      change: a function to apply to ``scale`` elementwise, such as the reciprocal.
    """
    form = trace.form_of(arg)
    if form is None or form.is_of_values:
        return None
    function = _scale(trace, scale, form)
    if function is None:
        return None
    return form.replace(function=product(form.function, lambda x: change(function(x))))


def _scale(trace: RecognitionTrace, scale: Any, form: Form) -> Callable[[Any], Any] | None:
    """Returns the function of the eigenvalues by which a scaled factor is multiplied."""
    of_values = trace.form_of(scale)
    if of_values is None:
        return _constant(scale)
    if not of_values.is_of_values or of_values.source is not form.source:
        return None
    return of_values.function if merged([form, of_values]) == form.axes else None


def _on_diagonal(trace: RecognitionTrace, arg: Any, identity: Any) -> Form | None:
    """Returns the form of the diagonal matrix ``arg * identity``; None if there is no form."""
    form = trace.form_of(arg)
    if form is None or not form.is_of_values or isinstance(identity, Tracer):
        return None
    if sorted(form.labels) != [REPEATED, VALUE]:
        return None
    rows, columns = np.shape(identity)
    if rows != columns or not np.array_equal(np.asarray(identity), np.eye(rows)):
        return None
    return form.replace(axes=((VALUE, 0), (VALUE, 0)))

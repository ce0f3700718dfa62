# SPDX-License-Identifier: Apache-2.0
"""The instruction set of OLYMPUS, and the typed programs that consist of its instructions."""

from .loading import deferred as _deferred
from .loading import timed_import as _timed_import

with _timed_import:
    from . import operators as operators
    from .__about__ import __version__ as __version__
    from .adapters import members as _members  # noqa: F401 - attached to the classes of the core
    from .programs.evaluation import eval_olympuspr as eval_olympuspr
    from .programs.evaluation import install_evaluator as install_evaluator
    from .programs.evaluation import set_default_evaluator as _set_default_evaluator
    from .programs.make import eval_shape as eval_shape
    from .programs.make import make_olympuspr as make_olympuspr
    from .programs.make import named_call as named_call
    from .programs.make import named_scope as named_scope
    from .programs.olympuspr import ClosedOlympuspr as ClosedOlympuspr
    from .programs.olympuspr import Literal as Literal
    from .programs.olympuspr import Olympuspr as Olympuspr
    from .programs.olympuspr import Var as Var
    from .programs.olympuspr import install_printer as _install_printer
    from .programs.primitives import Primitive as Primitive
    from .programs.primitives import primitives as primitives
    from .programs.rules import RuleTable as RuleTable
    from .programs.staging import trace_to_olympuspr as trace_to_olympuspr
    from .programs.tracing import Trace as Trace
    from .programs.tracing import Tracer as Tracer
    from .programs.tracing import typeof as typeof
    from .settings import config as config
    from .trees import pytrees as pytrees
    from .types import dtypes as dtypes
    from .types.arrays import Array as Array
    from .types.avals import AbstractValue as AbstractValue
    from .types.avals import ShapedArray as ShapedArray
    from .types.avals import get_aval as get_aval
    from .types.shape_struct import ShapeDtypeStruct as ShapeDtypeStruct

# Lower layers cannot import the printer and the evaluator, so these are installed here.
_install_printer(_deferred(".programs.printer", milliseconds=3.0))
_reference = _deferred(".reference.evaluator", milliseconds=40.0)
_set_default_evaluator(lambda: _reference.reference_evaluator)
config.config.check_environment()

# SPDX-License-Identifier: Apache-2.0
"""The instruction set of OLYMPUS and the small typed programs made of it."""

from . import config as config
from . import operators as operators
from . import tracer_members as _tracer_members  # noqa: F401 - members of `Tracer`
from . import type_members as _type_members  # noqa: F401 - members of `AbstractValue`
from .__about__ import __version__ as __version__
from .arrays import Array as Array
from .avals import AbstractValue as AbstractValue
from .avals import ShapedArray as ShapedArray
from .avals import get_aval as get_aval
from .evaluation import eval_olympuspr as eval_olympuspr
from .evaluation import install_evaluator as install_evaluator
from .make import eval_shape as eval_shape
from .make import make_olympuspr as make_olympuspr
from .make import named_call as named_call
from .make import named_scope as named_scope
from .olympuspr import ClosedOlympuspr as ClosedOlympuspr
from .olympuspr import Literal as Literal
from .olympuspr import Olympuspr as Olympuspr
from .olympuspr import Var as Var
from .primitives import Primitive as Primitive
from .primitives import primitives as primitives
from .rules import RuleTable as RuleTable
from .shape_struct import ShapeDtypeStruct as ShapeDtypeStruct
from .staging import trace_to_olympuspr as trace_to_olympuspr
from .tracing import Trace as Trace
from .tracing import Tracer as Tracer
from .tracing import typeof as typeof

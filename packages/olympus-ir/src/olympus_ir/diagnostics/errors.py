# SPDX-License-Identifier: Apache-2.0
"""Errors that OLYMPUS raises. Each is a subclass of the builtin error that a caller would expect.

``docs/errors.md`` has a section for each class, with a failing example, the reason and the repair.
Messages end with a reference to the section.

The constructors of errors about traced values take the tracer and compose the message from its type
and from ``tracer._origin_message()``, which names the function being traced, its line, and the
arguments that the value depends on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._jaxlib import JaxRuntimeError
from ..loading import deferred
from ..settings.naming import naming

if TYPE_CHECKING:
    from ..programs.tracing import Tracer
    from . import assignments
else:
    assignments = deferred("olympus_ir.diagnostics.assignments", milliseconds=2.0)

__all__ = [
    "ComplexOperandError",
    "ConcretizationTypeError",
    "InconclusiveDimensionOperation",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "KeyReuseError",
    "LeakedTracerError",
    "MissingRuleError",
    "NonConcreteBooleanIndexError",
    "OlympusError",
    "OlympusIndexError",
    "OlympusTypeError",
    "OlympusprTypeError",
    "ReferenceOperandError",
    "ShapeError",
    "ShardingTypeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TypePromotionError",
    "UnexpectedTracerError",
]

SITE = "https://olympus-arrays.github.io/olympus"
DOCUMENTATION = f"{SITE}/errors.html"


def assignment_error() -> TypeError:
    """Returns the error for an assignment to an element of an array."""
    return TypeError(
        f"{naming.library} arrays are immutable and do not support in-place item assignment. "
        "Instead of x[idx] = y, use x = x.at[idx].set(y) or another .at[] method: "
        f"{SITE}/quickstart.html"
    )


def truth_value_error(size: int) -> ValueError:
    """Returns the error for the truth value of an array whose size is not one."""
    if size == 0:
        return ValueError(
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an "
            "array is not empty."
        )
    return ValueError(
        "The truth value of an array with more than one element is ambiguous. "
        "Use a.any() or a.all()"
    )


class OlympusError(Exception):
    """Base of all errors that OLYMPUS defines.

    The message of a documented error ends with the address of the error's section in
    ``docs/errors.md``.

    Args:
        message: describes the problem and the repair.
    """

    def __init__(self, message: str):
        reference = self._reference()
        # A message that was copied from another error already ends with the reference.
        if not message.endswith(reference):
            message = f"{message}\n{reference}"
        super().__init__(message)

    @classmethod
    def _reference(cls) -> str:
        documented = next(c for c in cls.__mro__ if globals().get(c.__name__) is c)
        return f"See {DOCUMENTATION}#{documented.__name__.lower()}"

    def __reduce__(self) -> tuple[Any, ...]:
        # Some constructors take a tracer, which cannot be pickled; the message can.
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(cls: type[OlympusError], args: tuple[Any, ...], state: dict[str, Any]) -> OlympusError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error


class OlympusTypeError(OlympusError, TypeError):
    """Base of the errors about values of the wrong kind."""


class OlympusIndexError(OlympusError, IndexError):
    """Base of the errors about indices."""


# JAX's names of these errors, for programs that run with either library.
JAXTypeError = OlympusTypeError
JAXIndexError = OlympusIndexError


# --- Traced values where concrete ones are needed ------------------------------------------------


def _lines(*parts: str) -> str:
    """Joins the non-empty parts of a message, each on its own line."""
    return "\n".join(part.strip() for part in parts if part and part.strip())


class ConcretizationTypeError(OlympusTypeError):
    """A value that is unknown during tracing was needed.

    Args:
        tracer: the traced array.
        context: one or two sentences that say where the value was needed.
    """

    def __init__(self, tracer: Tracer, context: str = ""):
        super().__init__(
            _lines(
                "Abstract tracer value encountered where concrete value is expected: traced array "
                f"with shape {tracer.aval.str_short()}. Its type is known, its value is not.",
                context,
                tracer._origin_message(),
                assignments.mended_assignment(),
            )
        )


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced array was used as a truth value, for example by ``if``, ``while`` or ``assert``.

    Args:
        tracer: the traced array.
    """

    def __init__(self, tracer: Tracer):
        OlympusTypeError.__init__(
            self,
            _lines(
                "Attempted boolean conversion of traced array with shape "
                f"{tracer.aval.str_short()}. `if`, `while`, `assert`, `and`, `or` and `not` need "
                "its value, which is not known while the function is traced.",
                tracer._origin_message(),
                "To choose between values, use `olympus.numpy.where`, `olympus.lax.cond` or "
                "`olympus.lax.while_loop`. To choose while tracing, make the argument static with "
                "`jit(..., static_argnames=...)`.",
            ),
        )


class TracerArrayConversionError(OlympusTypeError):
    """A traced array was passed to a NumPy function, which needs the elements.

    Args:
        tracer: the traced array.
    """

    def __init__(self, tracer: Tracer):
        super().__init__(
            _lines(
                "The numpy.ndarray conversion method __array__() was called on traced array with "
                f"shape {tracer.aval.str_short()}. NumPy needs its elements, which "
                "are not known while the function is traced.",
                tracer._origin_message(),
                assignments.mended_assignment()
                or "Use the function of `olympus.numpy` in place of NumPy's. If NumPy itself must "
                "run, call it through `olympus.pure_callback`.",
            )
        )


class TracerIntegerConversionError(OlympusTypeError):
    """A traced integer was used as a Python integer, for example as a list index or in ``range``.

    Args:
        tracer: the traced array.
    """

    def __init__(self, tracer: Tracer):
        super().__init__(
            _lines(
                "The __index__() method was called on traced array with shape "
                f"{tracer.aval.str_short()}. List indices, `range` and shapes need its value, "
                "which is not known while the function is traced.",
                tracer._origin_message(),
                "Index an array and not a list or NumPy array (convert it with "
                "`olympus.numpy.asarray`), loop with `olympus.lax.fori_loop`, or make the argument "
                "static with `jit(..., static_argnames=...)`.",
            )
        )


class NonConcreteBooleanIndexError(OlympusIndexError):
    """A traced boolean mask was used as an index, which leaves the result's shape unknown.

    Args:
        tracer: the mask.
    """

    def __init__(self, tracer: Tracer):
        super().__init__(
            _lines(
                f"Array boolean indices must be concrete; got {tracer.aval.str_short()}. The "
                "number of its true elements, which is the size of the result, is not known while "
                "the function is traced.",
                tracer._origin_message(),
                "Use `olympus.numpy.where(mask, x, fill)` with three arguments to keep the shape, "
                "`olympus.numpy.nonzero(mask, size=...)` to bound it, or `x.at[mask].set(value)` "
                "to update the selected elements with one value.",
            )
        )


class UnexpectedTracerError(OlympusTypeError):
    """A traced value was used after, or outside, the call that traced it.

    Args:
        msg: describes the value and its origin.
    """

    def __init__(self, msg: str):
        super().__init__(msg)


def escaped_tracer_message(tracer: Tracer, detail: str = "") -> str:
    """Returns the message for a tracer that is used after, or outside of, its trace."""
    return (
        f"Encountered an unexpected tracer. A function transformed by {naming.library} had a side "
        "effect, "
        f"allowing for a reference to an intermediate value with type {tracer.aval.str_short()} "
        f"wrapped in a {type(tracer).__name__} to escape the scope of the transformation"
        f"{'; it ' + detail if detail else ''}.\n"
        f"{naming.library} transformations require that functions explicitly return their outputs, "
        "and disallow saving intermediate values to global state.\n"
        f"{tracer._origin_message()}\n"
        "To catch the leak earlier, set the environment variable "
        f"{naming.module.upper()}_CHECK_TRACER_LEAKS or use the `{naming.module}.checking_leaks` "
        "context manager."
    )


class LeakedTracerError(OlympusError):
    """Leak checking found a reference to a traced value after its function returned."""


# --- Programs ------------------------------------------------------------------------------------


class OlympusprTypeError(OlympusError, TypeError):
    """An olympuspr is not well formed: the checker found an equation whose types do not fit."""


class MissingRuleError(OlympusError, NotImplementedError):
    """A primitive has no rule in the rule table of a transformation."""


class ShapeError(OlympusTypeError, ValueError):
    """Operands have shapes that an operation does not accept.

    The error is a TypeError, because a shape is part of an array's type, and a ValueError, as in
    NumPy.
    """


class ComplexOperandError(OlympusTypeError, ValueError):
    """An operand is complex, but the function accepts only real numbers.

    The error is a TypeError, because a dtype is part of an array's type, and a ValueError, because
    the dtype has values that the function does not accept.
    """


class ReferenceOperandError(OlympusTypeError, ValueError):
    """An operand is a reference, but the operation needs the array that the reference holds.

    The error is a TypeError, because a reference is a type of its own, and a ValueError, as in
    functions of `lax` in JAX.
    """


class ShardingTypeError(OlympusTypeError):
    """The shardings of operands over explicit mesh axes are not allowed for an operation.

    They do not determine the sharding of the result, or they contradict the requested sharding.
    """


class TypePromotionError(OlympusError, ValueError):
    """Operands have dtypes that cannot be promoted to a common dtype."""


class InconclusiveDimensionOperation(OlympusError):
    """A comparison of symbolic dimensions has different results for different sizes."""


# --- Errors of several builtin kinds, for callers that catch either ------------------------------


class OutOfBoundsError(IndexError, ValueError):
    """An index is out of bounds.

    The error is an IndexError, as in NumPy, and a ValueError, as in JAX.
    """


class SectionsError(ValueError, ZeroDivisionError):
    """A split has no sections.

    The error is a ValueError, as in NumPy, and a ZeroDivisionError, as in JAX.
    """


class OddSizeError(ValueError, AssertionError):
    """A size is not even. The error is a ValueError, and also an AssertionError, as in JAX."""


class ElementsError(NotImplementedError, TypeError, ValueError):
    """A method needs numbers, but the elements of an array are keys or of another extended dtype.

    The error is a NotImplementedError, as in JAX. It is also a TypeError and a ValueError, which
    the same method raises for other arrays.
    """


class NotAnArrayError(TypeError, AttributeError):
    """A function of arrays was given a value of a high type, which has no members of arrays.

    The error is a TypeError, as for other operands that are no arrays, and an AttributeError, so
    that `hasattr` and `getattr` with a default work on the value.

    Args:
      aval: the type of the value.
      name: the member that was looked up.
    """

    def __init__(self, aval: object, name: str) -> None:
        super().__init__(
            f"Values of the high type {aval} are no arrays and have no {name!r}; a function of "
            "arrays requires ndarray or scalar arguments. Give it the arrays of the value, or "
            "define a `HiPrimitive` for the whole value."
        )
        self.name = name
        self._arguments = aval, name

    def __reduce__(self) -> tuple:
        return type(self), self._arguments


# --- Keys ----------------------------------------------------------------------------------------


class KeyReuseError(OlympusTypeError):
    """Reuse checking found a random key that was used twice.

    Args:
        message: describes the key and its uses.
    """

    def __init__(self, message: str):
        super().__init__(message)

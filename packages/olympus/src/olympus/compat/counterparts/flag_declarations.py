# SPDX-License-Identifier: Apache-2.0
"""Declarations of flags by libraries, under the names of JAX's private module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.settings.configuration import Kind, State, declare_state, one_of, truth, typed

__all__ = [
    "bool_state",
    "enum_state",
    "float_state",
    "int_state",
    "optional_enum_state",
    "string_state",
]


def bool_state(name: str, default: bool, help: str, **options: Any) -> State:
    """Declares a flag that is true or false.

    Args:
      name: the name, which usually begins with ``jax_``.
      default: the value unless an environment variable sets another.
      help: the description.
      **options: ``validator``, a function that raises for values that it refuses;
        ``include_in_jit_key`` and ``include_in_trace_context``, whether functions are traced again
        for another value. Other options of JAX have no effect.

    Returns:
      The flag. It has the attribute ``value``, and a call of it sets the value in a ``with`` block.

    Example:
      >>> flag = bool_state("jax_example_of_a_flag", False, "A flag of a library.")
      >>> with flag(True):
      ...     flag.value
      True
    """
    return _declare(name, default, truth, help, options)


def enum_state(
    name: str, enum_values: Sequence[str], default: str, help: str, **options: Any
) -> State:
    """Declares a flag whose value is one of several strings; see `bool_state`."""
    return _declare(name, default, one_of(tuple(enum_values)), help, options)


def optional_enum_state(
    name: str, enum_values: Sequence[str], default: str | None, help: str, **options: Any
) -> State:
    """Declares a flag whose value is None or one of several strings; see `bool_state`."""
    return _declare(name, default, one_of(tuple(enum_values), optional=True), help, options)


def int_state(name: str, default: int, help: str, **options: Any) -> State:
    """Declares a flag whose value is an integer; see `bool_state`."""
    return _declare(name, default, typed(int, default), help, options)


def float_state(name: str, default: float, help: str, **options: Any) -> State:
    """Declares a flag whose value is a number; see `bool_state`."""
    return _declare(name, default, typed(float, default), help, options)


def string_state(name: str, default: str, help: str, **options: Any) -> State:
    """Declares a flag whose value is a string; see `bool_state`."""
    return _declare(name, default, typed(str, default), help, options)


_VALIDATORS = ("validator", "extra_validator")
_OF_PROGRAMS = ("include_in_jit_key", "include_in_trace_context")


def _declare(name: str, default: Any, kind: Kind, help: str, options: dict[str, Any]) -> State:
    for option in _VALIDATORS:
        if options.get(option) is not None:
            kind = _checked(kind, options[option])
    return declare_state(
        name.lower().removeprefix("jax_"),
        default,
        kind,
        help,
        shapes_programs=any(options.get(option) for option in _OF_PROGRAMS),
    )


def _checked(kind: Kind, validator: Callable[[Any], Any]) -> Kind:
    """Returns a kind whose values a function of the library also checks."""

    def parse(value: Any) -> Any:
        parsed = kind.parse(value)
        validator(parsed)
        return parsed

    return Kind(parse, kind.from_text, kind.choices, kind.is_truth)

# SPDX-License-Identifier: Apache-2.0
"""Declarations of flags by libraries, under the names of JAX's private module."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.settings.configuration import (
    FALSE_WORDS,
    TRUE_WORDS,
    Flag,
    Kind,
    State,
    declare_flag,
    declare_state,
    one_of,
    truth,
    typed,
)

__all__ = [
    "bool_env",
    "bool_flag",
    "bool_state",
    "enum_flag",
    "enum_state",
    "float_flag",
    "float_state",
    "int_env",
    "int_flag",
    "int_state",
    "optional_enum_state",
    "string_flag",
    "string_state",
]


def bool_env(varname: str, default: bool) -> bool:
    """Returns the truth value of an environment variable, or ``default`` if it is not set.

    Raises:
      ValueError: the variable is no truth value.
    """
    word = os.environ.get(varname, str(default)).lower()
    if word not in TRUE_WORDS | FALSE_WORDS:
        raise ValueError(f"invalid truth value {word!r} for environment {varname!r}")
    return word in TRUE_WORDS


def int_env(varname: str, default: int) -> int:
    """Returns the integer in an environment variable, or ``default`` if it is not set."""
    return int(os.environ.get(varname, default))


def bool_flag(name: str, default: bool, help: str = "") -> Flag:
    """Declares a flag of the process that is true or false.

    Args:
      name: the name, which usually begins with ``jax_``.
      default: the value unless the program sets another.
      help: the description.

    Returns:
      The flag, whose attribute ``value`` is the value. Threads cannot override it.
    """
    return declare_flag(_own_name(name), default, truth, help, flag_type=Flag)


def int_flag(name: str, default: int, help: str = "") -> Flag:
    """Declares a flag of the process whose value is an integer; see `bool_flag`."""
    return declare_flag(_own_name(name), default, typed(int, default), help, flag_type=Flag)


def float_flag(name: str, default: float, help: str = "") -> Flag:
    """Declares a flag of the process whose value is a number; see `bool_flag`."""
    return declare_flag(_own_name(name), default, typed(float, default), help, flag_type=Flag)


def string_flag(name: str, default: str, help: str = "") -> Flag:
    """Declares a flag of the process whose value is a string; see `bool_flag`."""
    return declare_flag(_own_name(name), default, typed(str, default), help, flag_type=Flag)


def enum_flag(name: str, default: str, enum_values: Sequence[str], help: str = "") -> Flag:
    """Declares a flag of the process whose value is one of several strings; see `bool_flag`."""
    return declare_flag(_own_name(name), default, one_of(tuple(enum_values)), help, flag_type=Flag)


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


def _own_name(name: str) -> str:
    return name.lower().removeprefix("jax_")


def _declare(name: str, default: Any, kind: Kind, help: str, options: dict[str, Any]) -> State:
    for option in _VALIDATORS:
        if options.get(option) is not None:
            kind = _checked(kind, options[option])
    return declare_state(
        _own_name(name),
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

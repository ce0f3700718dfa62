# SPDX-License-Identifier: Apache-2.0
"""Digests of traced programs: equal digests mean that lowering gives the same module.

A digest covers everything that lowering and the compiler read:

- the equations with all parameters, types, literals and constants, and which programs and variables
  are the same object;
- the name, the donated operands and the options of the call;
- all settings that differ from their defaults, and those that a thread has overridden;
- the source files of the packages that take part, and the versions of NumPy and Python;
- everything in `cache_key.circumstances`: jaxlib, the environment, the devices and the processor.

A program has no digest if a part of it has no stable form, for example a callback, a sharding or an
effect. It must consist of OLYMPUS's own instructions, with OLYMPUS's own rules, on one CPU.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import ml_dtypes
import numpy as np

from olympus_ir._jaxlib import config_trace_context
from olympus_ir.diagnostics.name_stacks import Mark
from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.olympuspr import ClosedOlympuspr, DropVar, Equation, Literal, Olympuspr
from olympus_ir.programs.rules import all_tables
from olympus_ir.settings import config_cache_flags, config_flags, config_states
from olympus_ir.settings.config import config
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.extended_dtypes import ExtendedDType
from olympus_ir.types.memory_spaces import MemorySpace
from olympus_ir.types.records import Record

from ..._jaxlib import ArrayImpl, is_description
from ...arrays.layouts import layouts_in_use
from .. import cache_key
from ..lowering.lowered import LARGEST_INLINE_CONSTANT, PARAMETERS_THAT_MATTER
from ..placement.placements import Placement
from .sources import OLYMPUS_PACKAGES, source_files

__all__ = ["program_digest"]

# This number must change if the form of programs changes.
_FORMAT_VERSION = 1

# The packages that define instructions, and those that lowering imports.
_PACKAGES = (
    "olympus_ir",
    "olympus_batching",
    "olympus_autodiff",
    "olympus_sharding",
    "olympus_random",
    "olympus_xla",
    "olympus_export",
)


class _NoStableFormError(Exception):
    """Error for a part of a program that has no stable form."""


def program_digest(program: TracedProgram, options: JitOptions, placement: Placement) -> str | None:
    """Returns the digest of a program; None if it has none.

    Args:
      program: the program.
      options: the options of the call.
      placement: the devices, and the shardings and layouts of operands and results.
    """
    if not _is_plain(program, options, placement) or _is_watched() or _has_foreign_rules():
        return None
    circumstances = cache_key.circumstances(placement.devices)
    if circumstances is None:
        return None
    form = _CanonicalForm()
    try:
        form.add_closed(program.closed, LARGEST_INLINE_CONSTANT)
        form.add_value(
            (
                program.params["name"],
                program.params["donated_invars"],
                program.closed.jaxpr.debug_info.result_paths,
                options.keep_unused,
                options.compile_budget,
                options.compiler_options,
                [device.id for device in placement.devices],
            )
        )
    except _NoStableFormError:
        return None
    return cache_key.digest_of(
        "\n".join(form.parts).encode("utf-8", "surrogatepass"),
        _settings().encode(),
        source_files(_PACKAGES).encode(),
        _versions().encode(),
        *circumstances,
    )


def _versions() -> str:
    # Lowering also reads how many processors the process may use now.
    facts = _FORMAT_VERSION, sys.version, np.__version__, ml_dtypes.__version__
    return repr((*facts, cache_key.usable_processors()))


# ---- conditions ----


def _is_plain(program: TracedProgram, options: JitOptions, placement: Placement) -> bool:
    """Returns whether a program runs on one CPU, without shardings, layouts or captured tracers."""
    device = placement.devices[0]
    return (
        type(program) is TracedProgram
        and not program.hoisted
        and not options.is_cached  # the bytes of the module are needed
        and len(placement.devices) == 1
        and device.platform == "cpu"
        and not is_description(device)
        and placement.mesh is None
        and not any((*placement.in_shardings, *placement.out_shardings))
        and not any((*placement.in_layouts, *placement.out_layouts))
        and not layouts_in_use.in_use
        and not Mark.are_used
    )


def _is_watched() -> bool:
    """Returns whether the user wants to see the steps of lowering, or to check the cache."""
    return bool(
        config_flags.dump_ir_to.value
        or config_states.log_compiles.value
        or config_cache_flags.compilation_cache_check_contents.value
        or config_cache_flags.compilation_cache_include_metadata_in_key.value
    )


def _has_foreign_rules() -> bool:
    """Returns whether other code has replaced a rule that lowering reads."""
    return any(
        table.replaced
        for table in all_tables.values()
        if table.package in ("olympus_ir", "olympus_batching", "olympus_xla")
    )


# ---- settings ----

# Flags that do not affect programs.
_WITHOUT_EFFECT = frozenset(
    flag.flag_name for flag in vars(config_cache_flags).values() if hasattr(flag, "flag_name")
)


def _settings() -> str:
    flags = [(name, config.flag(name)) for name in config if name not in _WITHOUT_EFFECT]
    changed = [(name, repr(flag.value)) for name, flag in flags if flag.value != flag.default]
    return repr((changed, config_trace_context()))


# ---- the canonical form ----

# Types whose values are identified by their texts, in which numbers have all digits.
_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))
_OWN = frozenset(OLYMPUS_PACKAGES)
_OF_DTYPES = frozenset(("builtins", "numpy", "ml_dtypes"))


class _CanonicalForm:
    """Canonical form of a program, in parts without line breaks.

    Variables and programs are numbered in the order of their first use, so that the form says which
    are the same object.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._variables: dict[Any, int] = {}
        self._programs: dict[int, int] = {}
        self._types: dict[Any, str] = {}

    def add_closed(self, closed: ClosedOlympuspr, largest_inline: float = float("inf")) -> None:
        """Adds a program with its constants.

        Args:
          closed: the program.
          largest_inline: the number of bytes above which only the type of a constant matters.
        """
        if self._is_known(closed):
            return
        for value in closed.consts:
            aval = get_aval(value)
            self.parts.append(self._type(aval))
            if aval.size * aval.dtype.itemsize <= largest_inline:
                self.add_value(value)
            else:
                _array(value)  # raises for unusual constants
        self.add_open(closed.jaxpr)

    def add_open(self, olympuspr: Olympuspr) -> None:
        """Adds a program without the values of its constants."""
        if self._is_known(olympuspr):
            return
        if olympuspr.effects:
            raise _NoStableFormError
        for var in (*olympuspr.constvars, *olympuspr.invars):
            self._bind(var)
        self.parts.append("equations")
        for equation in olympuspr.eqns:
            self._add_equation(equation)
        self.parts.append("results")
        for atom in olympuspr.outvars:
            self._add_atom(atom)
        self.parts.append("end")

    def _is_known(self, program: Any) -> bool:
        """Adds the number of a program, and returns whether the program is in the form already."""
        number = len(self._programs)
        found = self._programs.setdefault(id(program), number)
        self.parts.append(f"{program.__class__.__name__} {found}")
        return found != number

    def _add_equation(self, equation: Equation) -> None:
        primitive, params = equation.primitive, equation.params
        if equation.effects or not primitive.is_instruction:
            raise _NoStableFormError
        self.parts.append(primitive.name)
        for atom in equation.invars:
            self._add_atom(atom)
        for name in PARAMETERS_THAT_MATTER.get(primitive, params):
            value = params[name]
            if value.__class__ in _PLAIN:  # the most frequent case
                self.parts.append(f"{name} {value!r}")
            else:
                self.parts.append(name)
                self.add_value(value)
        for var in equation.outvars:
            self._bind(var)

    def _bind(self, var: Any) -> None:
        self._variables[var] = len(self._variables)
        self.parts.append(self._type(var.aval) + (" unused" if var.__class__ is DropVar else ""))

    def _add_atom(self, atom: Any) -> None:
        if atom.__class__ is Literal:
            self.parts.append(self._type(atom.aval))
            self.add_value(atom.val)
        else:
            self.parts.append(f"%{self._variables[atom]}")

    def _type(self, aval: Any) -> str:
        text = self._types.get(aval)
        if text is None:
            text = self._types[aval] = _type_text(aval)
        return text

    def add_value(self, value: Any) -> None:
        """Adds a parameter or a constant."""
        kind = value.__class__
        if kind in _PLAIN or (kind is tuple and _PLAIN.issuperset(map(type, value))):
            self.parts.append(repr(value))
        elif kind is tuple or kind is list:
            self._add_items(kind.__name__, value)
        elif kind is ClosedOlympuspr:
            self.add_closed(value)
        elif kind is Olympuspr:
            self.add_open(value)
        elif isinstance(value, np.dtype):
            self.parts.append(_dtype_text(value))
        elif kind is np.ndarray or kind is ArrayImpl or isinstance(value, np.generic):
            array = _array(value)
            text = f"{kind.__name__} {_dtype_text(array.dtype)} {array.shape}"
            self.parts.append(f"{text} {array.tobytes().hex()}")
        else:
            self._add_named(value, kind)

    def _add_named(self, value: Any, kind: type) -> None:
        """Adds a value of a class that has a name of its own, in OLYMPUS or in NumPy."""
        if isinstance(value, enum.Enum) and _is_own(kind):
            self.parts.append(f"{kind.__qualname__}.{value.name}")
        elif isinstance(value, tuple) and hasattr(kind, "_fields") and _is_own(kind):
            self._add_items(kind.__qualname__, value)
        elif isinstance(value, Record) and _is_own(kind):
            self._add_items(kind.__qualname__, [*vars(value).items()])
        elif isinstance(value, ExtendedDType) and _is_own(kind):
            self._add_items(kind.__qualname__, value.__reduce__()[1])
        elif isinstance(value, FunctionType) and _is_covered(value):
            self.parts.append(f"function {value.__module__}.{value.__qualname__}")
        elif isinstance(value, type) and value.__module__ in _OF_DTYPES:
            self.parts.append(f"type {value.__module__}.{value.__qualname__}")
        else:
            raise _NoStableFormError

    def _add_items(self, name: str, items: Sequence[Any]) -> None:
        self.parts.append(f"{name} of {len(items)}")
        for item in items:
            self.add_value(item)


def _is_own(kind: type) -> bool:
    return (kind.__module__ or "").partition(".")[0] in _OWN


def _is_covered(function: FunctionType) -> bool:
    """Returns whether a function is found by its name in a source file that the digest covers."""
    module = sys.modules.get(function.__module__)
    return (function.__module__ or "").partition(".")[0] in _PACKAGES and getattr(
        module, function.__qualname__, None
    ) is function


def _type_text(aval: Any) -> str:
    """Returns the text of the type of an array on one device."""
    if (
        type(aval) is not ShapedArray
        or aval.layout is not None
        or aval.vma
        or aval.memory_space is not MemorySpace.Device
        or not all(type(size) is int for size in aval.shape)
    ):
        raise _NoStableFormError
    return f"{_dtype_text(aval.dtype)} {aval.shape} {aval.weak_type}"


def _dtype_text(dtype: Any) -> str:
    if isinstance(dtype, ExtendedDType):
        form = _CanonicalForm()
        form.add_value(dtype)
        return " ".join(form.parts)
    if not isinstance(dtype, np.dtype) or dtype.hasobject or dtype.names is not None:
        raise _NoStableFormError
    return f"{dtype!r} {dtype.str}"


def _array(value: Any) -> np.ndarray:
    """Returns a constant as a NumPy array."""
    kind = value.__class__
    if kind is ArrayImpl:
        if len(value.sharding.device_set) != 1 or value.is_deleted():
            raise _NoStableFormError
    elif kind is not np.ndarray and not isinstance(value, np.generic):
        raise _NoStableFormError
    return np.asarray(value)

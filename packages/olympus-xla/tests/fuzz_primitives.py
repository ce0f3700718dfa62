# SPDX-License-Identifier: Apache-2.0
"""Binds primitives with operands and parameters that may be wrong; run by test_fuzzing.py.

    python fuzz_primitives.py SEED COUNT

Each sample is changed at random: integers among its parameters, shapes and dtypes of its operands.
What results must be computed, or refused with an error that is meant for users: a crash, or an
error that speaks of our own mistakes, is a defect. Prints the defects.
"""

from __future__ import annotations

import dataclasses
import random
import sys
import warnings

import numpy as np

from olympus_ir.programs.olympuspr import ClosedOlympuspr, Olympuspr
from olympus_ir.settings import config
from olympus_testing import cases
from olympus_xla.calls.jit import jit

# What users may see. AssertionError, KeyError, AttributeError and the like are our own mistakes.
LEGAL = (TypeError, ValueError, IndexError, NotImplementedError, OverflowError, ZeroDivisionError)
# Sizes and counts stay small: what is asked for is also allocated.
# The operands of programs are of the types that the programs say.
_NOT_TRIED = ("callbacks", "collectives", "calls", "control_flow")
NUMBERS = (-3, -2, -1, 0, 1, 2, 3, 4, 7)
DTYPES = ("float32", "int32", "bool", "complex64", "uint8", "float16")


def changed(value, chooser):
    """A parameter with some of its integers changed."""
    if isinstance(value, bool):
        return value if chooser.random() < 0.7 else not value
    if type(value) is int:
        return value if chooser.random() < 0.6 else chooser.choice(NUMBERS)
    if isinstance(value, tuple) and type(value) is tuple:
        items = [changed(item, chooser) for item in value]
        if items and chooser.random() < 0.1:
            items.pop()
        elif items and chooser.random() < 0.1:
            items.append(items[0])
        return tuple(items)
    if isinstance(value, tuple) and not any(
        isinstance(item, ClosedOlympuspr | Olympuspr) for item in value
    ):
        return type(value)(*(changed(item, chooser) for item in value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: changed(getattr(value, field.name), chooser)
            for field in dataclasses.fields(value)
        }
        return type(value)(**fields)
    return value


def changed_operand(operand, chooser):
    array = np.asarray(operand)
    if chooser.random() < 0.7:
        return array
    shape = list(array.shape)
    choice = chooser.randrange(4)
    if choice == 0 and shape:
        shape[chooser.randrange(len(shape))] = chooser.choice((0, 1, 2, 5))
    elif choice == 1:
        shape.insert(0, 2)
    elif choice == 2 and shape:
        shape.pop()
    dtype = chooser.choice(DTYPES) if choice == 3 else array.dtype
    return np.ones(shape, dtype)


def main(seed: int, count: int) -> None:
    chooser = random.Random(seed)
    every = [case for case in cases() if case.primitive.family not in _NOT_TRIED]
    for _ in range(count):
        case = chooser.choice(every)
        try:
            args = [changed_operand(arg, chooser) for arg in case.args]
            params = {name: changed(value, chooser) for name, value in case.params.items()}
        except LEGAL:
            continue  # refused by the class of a parameter
        described = f"{case}: {[(arg.shape, arg.dtype.name) for arg in args]} {params}"
        print(f"trying {described}", flush=True)  # the last line, should the process die

        def run(*operands, case=case, params=params):
            if case.primitive.bind_equation is not None:
                return case.primitive.bind_equation(operands, dict(params))
            return case.primitive.bind(*operands, **params)

        try:
            with config.enable_x64(any(arg.dtype.itemsize == 8 for arg in args)):
                jit(run)(*args)
        except LEGAL as error:
            if not str(error):
                print(f"DEFECT no message in {type(error).__name__} of {described}")
        except Exception as error:
            kind = type(error).__name__
            print(f"DEFECT {kind}: {str(error)[:160]!r} of {described}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]), int(sys.argv[2]))

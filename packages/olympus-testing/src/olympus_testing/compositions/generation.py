# SPDX-License-Identifier: Apache-2.0
"""Random programs: which operations and transformations a program has."""

from __future__ import annotations

import dataclasses
import random

from . import (
    analysis,
    arrays,
    calls,
    control_flow,
    effects,
    elementwise,
    meshes,
    modes,
    nests,
    products,
    states,
    structured,
)
from .drafts import NARROW, WIDE, Draft, elements, random_kind
from .programs import Function, Program, Value, source
from .transformations import transformations

__all__ = ["FAMILIES", "random_program"]

# The relative frequency of each family.
_WEIGHTS = {
    elementwise.unary: 6,
    elementwise.binary: 6,
    elementwise.cast: 2,
    elementwise.selected: 2,
    arrays.reduced: 3,
    arrays.cumulative: 1,
    arrays.moved: 2,
    arrays.resized: 2,
    arrays.padded: 1,
    arrays.joined: 2,
    arrays.indexed: 2,
    arrays.taken: 2,
    arrays.updated: 3,
    arrays.sorted_values: 1,
    products.multiplied: 2,
    products.convolved: 1,
    products.transformed: 1,
    products.matrices: 1,
    products.random_bits: 1,
    control_flow.scanned: 2,
    control_flow.fori: 1,
    control_flow.while_loop: 1,
    control_flow.chosen: 2,
    control_flow.mapped: 2,
    control_flow.called: 2,
    control_flow.custom_jvp: 1,
    control_flow.custom_vjp: 1,
    control_flow.inner_derivative: 1,
    control_flow.referenced: 1,
    control_flow.collective: 1,
    structured.segments: 1,
    structured.ragged: 1,
    structured.spectra: 1,
    structured.solved: 1,
    structured.associated: 1,
    structured.carried_keys: 1,
    structured.trees: 2,
    structured.options_of_calls: 2,
    structured.batched_loop: 2,
    structured.narrowed: 1,
    structured.eigenvectors: 1,
    elementwise.eighths: 1,
    modes.gathered: 1,
    modes.scattered: 1,
    modes.promised: 1,
    modes.windows_gathered: 1,
    modes.windows_scattered: 1,
    nests.loops_of_choices: 1,
    nests.nested_batches: 1,
    nests.nested_references: 1,
    nests.over_four_devices: 1,
    calls.donated: 1,
    calls.static: 1,
    calls.without_derivatives: 1,
    analysis.factored: 1,
    analysis.holomorphic: 1,
    analysis.polymorphic: 1,
    analysis.reduced_segments: 1,
    analysis.sparse: 1,
    analysis.transforms: 1,
    effects.called_back: 1,
    effects.checked: 1,
    effects.reported: 1,
    meshes.over_meshes: 1,
    states.optimized: 1,
    states.partial: 1,
    states.random_loops: 1,
    states.registered: 1,
    states.state_in_loops: 1,
}
#: The families of operations, by name.
FAMILIES = {family.__name__: family for family in _WEIGHTS}


def random_program(seed: int, number: int = 0, *, devices: int = 1, length: int = 6) -> Program:
    """Returns a random program with random transformations, the same for the same arguments.

    Args:
      seed: the seed of a run.
      number: the index of the program in the run.
      devices: the number of devices that the program can use.
      length: the greatest number of operations outside of inner functions.

    Returns:
      The program; `source` returns its text.

    Example:
      >>> from olympus_testing.compositions import random_program, source
      >>> print(source(random_program(0, 1)).splitlines()[0])
      def f(x1):
    """
    chooser = random.Random(f"{seed}-{number}")
    wide = chooser.random() < 0.2
    dtypes = WIDE if wide else NARROW
    real = [dtypes.real] * 4 + [dtypes.half, dtypes.complex, dtypes.integer, "bool", "uint8"]
    kinds = [random_kind(chooser, [dtypes.real])]
    kinds += [random_kind(chooser, real) for _ in range(chooser.randint(0, 2))]
    chooser.shuffle(kinds)
    parameters = tuple(Value(f"x{number}", kind) for number, kind in enumerate(kinds, 1))
    # Each program uses a few families only, so their combinations are frequent.
    every = [family for family, weight in _WEIGHTS.items() for _ in range(weight)]
    families = [chooser.choice(every) for _ in range(chooser.randint(3, 12))]
    smooth = wide and chooser.random() < 0.7
    draft = Draft(chooser, dtypes, list(parameters), families, smooth=smooth, devices=devices)
    draft.write(chooser.randint(1, length))
    results = [value for value in draft.values[len(parameters) :] if chooser.random() < 0.3]
    last = [value for value in draft.values if value.kind.is_inexact][-1:]
    results = [*results[-2:], *(value for value in last if value not in results[-2:])]
    function = Function(
        "f", parameters, tuple(draft.statements), tuple(value.name for value in results)
    )
    stack = transformations(
        chooser,
        parameters,
        tuple(value.kind for value in results),
        chooser.choice((0, 1, 1, 2, 2, 3, 4)),
        devices=devices,
    )
    values = tuple(elements(chooser, kind) for kind in kinds)
    program = Program(function, values, stack, wide, smooth)
    if stack and stack[-1].name in _unfit(source(program)):
        program = dataclasses.replace(program, stack=stack[:-1])
    return program


def _unfit(text: str) -> set[str]:
    """Returns the names of the transformations that a program cannot have as its last one."""
    unfit: set[str] = set()
    # An exported program runs on the number of devices that it was exported for. It contains no
    # Python functions, so it cannot call any.
    if any(call in text for call in ("jax.shard_map(", "callback(", "jax.debug.")):
        unfit.add("export")
    # Arguments that are sharded over two devices cannot meet a mesh of four.
    if "jax.devices()[:4]" in text:
        unfit.add("sharded")
    return unfit

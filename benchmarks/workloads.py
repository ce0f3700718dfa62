# SPDX-License-Identifier: Apache-2.0
"""The record of a measured program, and the table to which the modules of this package add records.

A workload is a function of a library's modules. It returns the function to time, which has no
arguments, and the number of units of work (equations, operations) in one call. If ``compare`` is
set, the result of a call is compared between the libraries.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


@dataclasses.dataclass(frozen=True)
class Workload:
    """One program.

    Attributes:
      name: the name in the tables.
      group: the group, which has a budget.
      prepare: maps the library to the function to time.
      units: the number of units of work in one call.
      compare: whether the two libraries' results must agree.
      short: whether the short form, which runs for each change, includes the program.
      devices: the number of CPU devices on which the program runs.
      quantity: "time"; or "seconds" or "bytes", for a function that returns the figure itself; it
        is called once, and its result is not compared.
    """

    name: str
    group: str
    prepare: Callable[[Any], Callable[[], Any]]
    units: int = 1
    compare: bool = True
    short: bool = True
    devices: int = 1
    quantity: str = "time"


WORKLOADS: list[Workload] = []


def workload(name: str, group: str, units: int = 1, **settings: Any) -> Callable:
    """Registers a function as a workload."""

    def register(prepare: Callable[[Any], Callable[[], Any]]) -> Callable:
        WORKLOADS.append(Workload(name, group, prepare, units, **settings))
        return prepare

    return register


def library(name: str, devices: int = 1) -> Any:
    """Returns the modules of ``"olympus"`` or ``"jax"`` under common names."""
    import importlib

    top = importlib.import_module(name)
    if devices > 1:
        top.config.update(f"{name}_num_cpu_devices", devices)
    return SimpleNamespace(
        name=name,
        top=top,
        np=importlib.import_module(f"{name}.numpy"),
        lax=importlib.import_module(f"{name}.lax"),
        nn=importlib.import_module(f"{name}.nn"),
        random=importlib.import_module(f"{name}.random"),
        sharding=importlib.import_module(f"{name}.sharding"),
        make_program=top.make_olympuspr if name == "olympus" else top.make_jaxpr,
    )

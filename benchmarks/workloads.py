# SPDX-License-Identifier: Apache-2.0
"""What a measured program is, and the table that the modules of this package fill.

A workload is a function of a library's modules that returns what is to be timed, a function without
arguments, and how many units of work (equations, operations) one call of it does. The result of a
call is compared between the libraries where ``compare`` is set.
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
      name: what the tables call it.
      group: the budget it counts towards.
      prepare: from the library to the function to time.
      units: the number of units of work in one call.
      compare: whether the two libraries' results must agree.
      short: whether the short form, which runs with each change, has it.
      devices: how many CPU devices it runs on.
      quantity: "time"; or "seconds" and "bytes", which the function returns itself, once, and
        which are not compared.
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
    """The modules of ``"olympus"`` or ``"jax"`` under common names."""
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

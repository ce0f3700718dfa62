# SPDX-License-Identifier: Apache-2.0
"""Prepares the timed call of a benchmark application, written with one of the libraries."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .declarations import Application

LIBRARIES = {
    "numpy": "NumPy",
    "numba": "Numba",
    "torch": "PyTorch",
    "compiled_torch": "torch.compile",
    "jax": "JAX",
    "olympus": "OLYMPUS",
}


def prepared(library: str, application: Application) -> Callable[[], Any] | None:
    """Returns the timed call, which waits for its results; None if the library has none."""
    arrays = application.operands()
    if library == "numpy":
        run = application.numpy
        return (lambda: run(*arrays)) if run is not None else None
    if library == "numba":
        if application.numba is None:
            return None
        compiled = application.numba(importlib.import_module(library))
        return lambda: compiled(*arrays)
    if library in ("torch", "compiled_torch"):
        module = importlib.import_module("torch")
        program = functools.partial(application.torch, module)
        if library == "compiled_torch":
            program = module.compile(program)
        tensors = [module.from_numpy(array) for array in arrays]
        return lambda: program(*tensors)
    module = importlib.import_module(library)
    program = module.jit(functools.partial(application.arrays, array_names(library)))
    own = [module.numpy.asarray(array) for array in arrays]
    return lambda: module.block_until_ready(program(*own))


def array_names(library: str) -> SimpleNamespace:
    """Returns the names that applications use of JAX and of OLYMPUS."""
    top = importlib.import_module(library)
    return SimpleNamespace(
        np=importlib.import_module(f"{library}.numpy"),
        lax=top.lax,
        nn=top.nn,
        vmap=top.vmap,
        value_and_grad=top.value_and_grad,
        linalg=importlib.import_module(f"{library}.scipy.linalg"),
        norm=importlib.import_module(f"{library}.scipy.stats").norm,
        segment_sum=importlib.import_module(f"{library}.ops").segment_sum,
    )

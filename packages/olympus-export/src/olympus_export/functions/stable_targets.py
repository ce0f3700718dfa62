# SPDX-License-Identifier: Apache-2.0
"""Foreign functions that an exported program may call.

A later version of jaxlib may run an exported program, perhaps years after the export. The foreign
functions below belong to jaxlib and keep their names and meanings. Users can allow other foreign
functions with `DisabledSafetyCheck.custom_call`, at their own risk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from .safety_checks import DisabledSafetyCheck

# Targets of custom calls that XLA's compiler implements, and of calls of Pallas kernels.
_OF_THE_COMPILER = frozenset(
    {
        "ApproxTopK",
        "Eigh",
        "LuDecomposition",
        "ProductOfElementaryHouseholderReflectors",
        "Qr",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "Sharding",
        "__gpu$xla.gpu.triton",
        "annotate_device_placement",
        "mhlo.topk",
        "shape_assertion",
        "stablehlo.dynamic_reduce_window",
        "stablehlo.dynamic_rng_bit_generator",
        "stablehlo.dynamic_top_k",
        "tpu_custom_call",
        "triton_kernel_call",
    }
)
# jaxlib's kernels with typed interfaces, such as lapack_sgesdd_ffi and cusolver_geqrf_ffi.
_OF_JAXLIB = re.compile(
    r"(lapack|cusolver|hipsolver|cublas|hipblas|cusparse|hipsparse|cudnn|miopen|magma|cu|hip)"
    r"_[a-z0-9_]+_ffi"
)


def _is_stable(target: str) -> bool:
    return target in _OF_THE_COMPILER or _OF_JAXLIB.fullmatch(target) is not None


def check_custom_calls(module: Any, disabled: Sequence[DisabledSafetyCheck]) -> None:
    """Checks that a module calls only stable foreign functions.

    Raises:
      ValueError: the module calls another foreign function, which ``disabled`` does not allow.
    """
    allowed = {check.is_custom_call() for check in disabled}
    problems = [
        operation
        for operation, target in _custom_calls(module.operation)
        if not _is_stable(target) and target not in allowed
    ]
    if problems:
        shown = "\n".join(f"{operation} at {operation.location}" for operation in problems[:5])
        raise ValueError(
            "Cannot serialize code with custom calls whose targets have no compatibility "
            "guarantees: an exported program may be run by a later version. If later versions will "
            "have the function, pass disabled_checks=[DisabledSafetyCheck.custom_call(name)]. "
            f"Examples are:\n{shown}"
        )


def _custom_calls(operation: Any) -> Iterator[tuple[Any, str]]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                inner = inner.operation
                if inner.name == "stablehlo.custom_call":
                    yield inner, inner.attributes["call_target_name"].value
                yield from _custom_calls(inner)

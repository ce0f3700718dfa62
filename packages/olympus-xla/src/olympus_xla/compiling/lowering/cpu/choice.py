# SPDX-License-Identifier: Apache-2.0
"""Choice between XLA's operations and the lowerings for CPUs."""

from __future__ import annotations

from collections.abc import Sequence

from olympus_ir.settings import config_flags

from ..context import LoweringContext


def is_for_one_cpu(context: LoweringContext) -> bool:
    """Returns whether a block runs on one CPU device, and the flag allows lowerings for it.

    Programs for several platforms or devices keep XLA's operations.
    """
    return (
        context.platforms == ("cpu",)
        and context.module.num_partitions == 1
        and config_flags.cpu_lowerings.value
    )


def may_call_numpy(context: LoweringContext) -> bool:
    """Returns whether a block may call NumPy: it runs on one CPU device, in this process."""
    return is_for_one_cpu(context) and not context.module.portable


def is_static(shape: Sequence[object]) -> bool:
    """Returns whether all sizes of a shape are known."""
    return all(type(size) is int for size in shape)

# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of `fft`, in each of its four types."""

from __future__ import annotations

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.fft import FftType

from .declarations import COMPLEXES, Operand, Operation, sample

_REALS = (np.float32, np.float64)


def _transform(label: str, kind: FftType, shape: tuple, lengths: tuple) -> Operation:
    return Operation(
        f"{kind.name.lower()}_{label}",
        (Operand(shape),),
        {"fft_type": kind, "fft_lengths": lengths},
        dtypes=_REALS if kind is FftType.RFFT else COMPLEXES,
    )


sample(
    lax.fft_p,
    *(
        operation
        for kind in (FftType.FFT, FftType.IFFT)
        for operation in (
            _transform("even", kind, (2, 6), (6,)),
            _transform("odd", kind, (5,), (5,)),
            _transform("single", kind, (2, 1), (1,)),
            _transform("two_dimensions", kind, (2, 4, 3), (4, 3)),
            _transform("three_dimensions", kind, (2, 4, 3), (2, 4, 3)),
            _transform("none", kind, (2, 3), ()),
            _transform("empty", kind, (0, 3), (3,)),
        )
    ),
    *(
        operation
        for even, odd in (((6,), (5,)), ((4, 6), (3, 5)), ((2, 4, 6), (2, 3, 5)))
        for label, lengths in ((f"even_{len(even)}", even), (f"odd_{len(odd)}", odd))
        for operation in (
            _transform(label, FftType.RFFT, (2, *lengths), lengths),
            _transform(label, FftType.IRFFT, (2, *lengths[:-1], lengths[-1] // 2 + 1), lengths),
        )
    ),
    _transform("single", FftType.RFFT, (2, 1), (1,)),
    _transform("single", FftType.IRFFT, (2, 1), (1,)),
    _transform("empty", FftType.RFFT, (0, 4), (4,)),
    _transform("empty", FftType.IRFFT, (0, 3), (4,)),
)

# SPDX-License-Identifier: Apache-2.0
"""What the lowerings to Triton and to Mosaic have in common: a builder, arithmetic, control flow.

Both languages are MLIR: arithmetic is the dialects ``arith`` and ``math``, on tensors in Triton and
on vectors in Mosaic, control flow is ``scf``.
"""

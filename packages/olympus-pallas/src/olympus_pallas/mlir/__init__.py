# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the lowerings to Triton and Mosaic: builder, arithmetic, shapes, control flow.

Both languages are MLIR. Arithmetic uses the dialects ``arith`` and ``math``, on tensors in Triton
and on vectors in Mosaic. Control flow uses the dialect ``scf``. The folder imports nothing else of
the package.
"""

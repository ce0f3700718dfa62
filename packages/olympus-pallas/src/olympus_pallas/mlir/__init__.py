# SPDX-License-Identifier: Apache-2.0
"""A builder, arithmetic and control flow, which the lowerings to Triton and Mosaic share.

Both languages are MLIR. Arithmetic is the dialects ``arith`` and ``math``, on tensors in Triton and
on vectors in Mosaic. Control flow is the dialect ``scf``. The folder imports nothing else of the
package.
"""

# SPDX-License-Identifier: Apache-2.0
"""Parts that the lowerings to Triton and to Mosaic share: a builder, arithmetic, control flow.

Both languages are MLIR. Arithmetic is the dialects ``arith`` and ``math``, on tensors in Triton and
on vectors in Mosaic. Control flow is the dialect ``scf``. The folder imports nothing else of the
package.
"""

# SPDX-License-Identifier: Apache-2.0
"""Functions of eigenvalues and singular values, differentiable to any order where these are equal.

`matrix_functions` computes V g(w) V^H and its derivatives. The files with the names of families of
primitives define `recognition_rules`, which recognize such functions in programs that are written
with ``eigh``, ``svd`` and ``eig``. The folder imports `custom`, `forward` and `rules`.
"""

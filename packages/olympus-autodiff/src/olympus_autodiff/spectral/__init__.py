# SPDX-License-Identifier: Apache-2.0
"""Functions of eigenvalues and singular values, with derivatives of any order where they are equal.

`matrix_functions` computes V g(w) V^H and its derivatives. The files with the names of families of
primitives hold `recognition_rules`, which recognize such functions in programs that are written
with ``eigh``, ``svd`` and ``eig``. The folder imports `custom`, `forward` and `rules`.
"""

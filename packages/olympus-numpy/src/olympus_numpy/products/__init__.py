# SPDX-License-Identifier: Apache-2.0
"""Products of vectors, matrices and tensors, and matrices of special form.

Imports `core`, `arrays`, `reductions` and `elementwise`.
"""

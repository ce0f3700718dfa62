# SPDX-License-Identifier: Apache-2.0
"""Products of vectors, matrices and tensors, and matrices of special form.

This folder imports `core`, `arrays`, `reductions` and `elementwise`.
"""

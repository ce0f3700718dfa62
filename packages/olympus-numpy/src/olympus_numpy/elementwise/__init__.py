# SPDX-License-Identifier: Apache-2.0
"""Functions of single elements, and `ufunc`, which gives them their reductions.

Imports `core`, `arrays` and `reductions`.
"""

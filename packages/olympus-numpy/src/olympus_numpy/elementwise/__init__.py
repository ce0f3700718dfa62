# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions, and `ufunc`, which adds methods such as ``reduce`` to them.

This folder imports `core`, `arrays` and `reductions`.
"""

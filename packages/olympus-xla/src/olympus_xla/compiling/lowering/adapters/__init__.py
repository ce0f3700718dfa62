# SPDX-License-Identifier: Apache-2.0
"""Lowering rules of other libraries: contexts and functions in JAX's form.

May import `rules` and the other lowering modules. None of them imports this package.
"""

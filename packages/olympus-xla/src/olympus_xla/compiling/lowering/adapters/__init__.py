# SPDX-License-Identifier: Apache-2.0
"""Adapters for lowering rules of other libraries: contexts and functions in JAX's form.

This package may import `rules` and the other lowering modules, none of which imports this package.
"""

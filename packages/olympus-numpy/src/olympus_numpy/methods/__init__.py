# SPDX-License-Identifier: Apache-2.0
"""The operators, methods and properties of arrays and tracers.

This folder imports everything that is loaded with the package, and nothing of `numerics`.
"""

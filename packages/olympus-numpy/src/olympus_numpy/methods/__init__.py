# SPDX-License-Identifier: Apache-2.0
"""The operators, methods and properties that arrays and tracers are given.

Imports everything that is loaded with the package, and nothing of `numerics`.
"""

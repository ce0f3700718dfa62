# SPDX-License-Identifier: Apache-2.0
"""The operators, methods and properties of arrays and tracers.

The package imports this folder when it is loaded. So this folder imports nothing of `numerics`,
which is loaded when it is first used.
"""

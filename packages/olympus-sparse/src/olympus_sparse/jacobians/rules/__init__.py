# SPDX-License-Identifier: Apache-2.0
"""Rules of the propagation of patterns, one module for each family of primitives.

`sparsity_rules` imports a module when it first looks up a primitive of its family. The rules import
`patterns` and `propagation`.
"""

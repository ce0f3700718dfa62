# SPDX-License-Identifier: Apache-2.0
"""Rules for sparse Jacobians, one module for each family of primitives.

A primitive has up to three rules. The rule in `sparsity_rules` returns the sparsity pattern of a
result: the inputs on which each element depends. The rule in `term_rules` returns the terms of a
linear result: products of a coefficient and an input, whose sum is an element. The rule in
`origin_rules` returns for each element the earlier element of which it is a multiple.

A table imports a module when it first looks up a primitive of its family. The rules import
`patterns` and `propagation`.
"""

# SPDX-License-Identifier: Apache-2.0
"""`sparsify`: functions of dense arrays, applied to sparse arrays by rules for primitives.

Modules here import the formats. `interpreter` runs programs. `elementwise`, `structure` and
`control_flow` define the rules. `transform` defines the public function.
"""

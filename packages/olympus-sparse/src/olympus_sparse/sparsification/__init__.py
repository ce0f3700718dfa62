# SPDX-License-Identifier: Apache-2.0
"""`sparsify`: functions of dense arrays, applied to sparse ones by a rule for each primitive.

Modules here import the formats. `interpreter` runs programs. `elementwise`, `structure` and
`control_flow` hold the rules. `transform` has the public function.
"""

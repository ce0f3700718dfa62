# SPDX-License-Identifier: Apache-2.0
"""Reverse mode: transposition of linear programs, and `vjp`, `grad` and Jacobians made of it.

First, `vjp` or `grad` linearizes the function (`forward.linearize`). Then `transpose.backward_pass`
runs the recorded equations backward, from the result's cotangent, by the rules in
`transpose_rules`. The modules import `forward` and the package's root.
"""

# SPDX-License-Identifier: Apache-2.0
"""Reverse mode: transposition of linear programs, and `vjp`, `grad` and Jacobians made of it.

A cotangent takes this way: `vjp` or `grad` linearizes the function (`forward.linearize`), and
`transpose.backward_pass` runs the recorded equations backward with the rules of `transpose_rules`.
The modules import `forward` and the package's root.
"""

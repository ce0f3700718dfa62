# SPDX-License-Identifier: Apache-2.0
"""Arrays made, reshaped, joined and chosen from, elementwise values aside.

`creation` makes arrays of values; `shaping`, `joining`, `flipping` and `repeating` rearrange them;
`selection` and `nonzero` choose elements by conditions; `host` reads files and describes shapes.
Imports `core` alone.
"""

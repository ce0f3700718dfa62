# SPDX-License-Identifier: Apache-2.0
"""Functions that make, reshape and join arrays, and select elements by conditions.

`creation` makes arrays of values and `filling` arrays of constants; `shaping`, `joining`,
`flipping` and `repeating` rearrange them; `selection` and `nonzero` choose elements by conditions;
`host` reads files and describes shapes.
This folder imports only `core`.
"""

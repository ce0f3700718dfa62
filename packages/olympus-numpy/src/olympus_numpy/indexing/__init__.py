# SPDX-License-Identifier: Apache-2.0
"""Indexing ``x[...]``, the updates ``x.at[...]``, and functions that take or put elements.

`parsing` reads an index, `getting` follows it, `updates` scatters through it. Imports `core`,
`arrays` and `elementwise`.
"""

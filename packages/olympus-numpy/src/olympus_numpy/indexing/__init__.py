# SPDX-License-Identifier: Apache-2.0
"""Indexing ``x[...]``, the updates ``x.at[...]``, and functions that take or put elements.

`parsing` reads an index. `getting` returns the elements at an index. `updates` scatters values to
these elements. The package imports `core`, `arrays` and `elementwise`.
"""

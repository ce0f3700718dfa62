# SPDX-License-Identifier: Apache-2.0
"""Optimization barriers that keep XLA's CPU compiler from fusions that would cost time.

The module `fusions` puts barriers into chains of operations that the compiler would fuse into ever
larger functions. The module `operands` puts barriers between an operation and the computation of
its operand. The operations are updates in place whose new values depend on views of the same array
(module `updates`), and gathers that take elements of an expensive operand repeatedly (module
`gathers`). The module `window_starts` puts barriers between slices and their constant starts.
"""

# SPDX-License-Identifier: Apache-2.0
"""BCOO: sparse arrays as batches of lists of coordinates and values.

Modules here import `core`. Their order from the bottom is `array`, `batching`, `conversion`,
`layouts`, `ordering`, `shaping`, then products, arithmetic, indexing and convolution.
"""

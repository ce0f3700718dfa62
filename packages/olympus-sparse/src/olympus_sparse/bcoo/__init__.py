# SPDX-License-Identifier: Apache-2.0
"""BCOO: sparse arrays as batches of lists of coordinates and values.

Modules here import `core`. From the bottom: `array`, `batching`, `conversion`, `layouts`,
`ordering`, `shaping`, then products, arithmetic, indexing and convolution.
"""

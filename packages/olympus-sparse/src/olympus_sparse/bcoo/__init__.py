# SPDX-License-Identifier: Apache-2.0
"""BCOO: sparse arrays as batches of lists of coordinates and values.

Modules here import `core`. From the lowest to the highest, they are `array`, `batching`,
`conversion`, `layouts`, `ordering`, `shaping` and `reshaping`. The modules of products, arithmetic,
indexing and convolution are above these.
"""

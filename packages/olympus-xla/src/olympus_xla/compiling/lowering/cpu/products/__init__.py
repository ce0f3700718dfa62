# SPDX-License-Identifier: Apache-2.0
"""Products of matrices and their factors on one CPU device.

* `vectors`: large matrices and vectors, multiplied by several threads.
* `batches`: many small matrices, multiplied in one loop.
* `outer`: outer products whose dimensions are merged, as in Kronecker products.
* `factors`: factors of many small matrices, and triangular systems with them.
"""

# SPDX-License-Identifier: Apache-2.0
"""Products on one CPU device.

* `vectors`: large matrices and vectors, multiplied by several threads.
* `batches`: many small matrices, multiplied in one loop.
* `outer`: outer products whose dimensions are merged, as in Kronecker products.
"""

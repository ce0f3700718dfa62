# SPDX-License-Identifier: Apache-2.0
"""Products on one CPU device.

* `vectors`: large matrices and vectors, multiplied by several threads.
* `outer`: outer products whose dimensions are merged, as in Kronecker products.
"""

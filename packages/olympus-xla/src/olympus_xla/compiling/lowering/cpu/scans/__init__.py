# SPDX-License-Identifier: Apache-2.0
"""Cumulative operations on one CPU device.

* `blocks`: loops whose steps combine vectors, over blocks of long rows.
* `long_sums`: sums of long rows of neighboring numbers, in one pass.
"""

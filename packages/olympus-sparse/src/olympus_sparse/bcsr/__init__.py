# SPDX-License-Identifier: Apache-2.0
"""BCSR: batches of sparse matrices in compressed sparse row format.

Modules here import `core` and `bcoo`.
"""

# SPDX-License-Identifier: Apache-2.0
"""BCSR: sparse arrays as batches of compressed rows.

Modules here import `core` and `bcoo`.
"""

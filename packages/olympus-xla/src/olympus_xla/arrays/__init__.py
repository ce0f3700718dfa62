# SPDX-License-Identifier: Apache-2.0
"""Device arrays: their class, parts, layouts, XLA shardings, and transfers.

This folder may import `platforms` and `_jaxlib`.
"""

# SPDX-License-Identifier: Apache-2.0
"""Device arrays: the class, their parts, layouts, shardings as XLA writes them, and transfers.

May import `platforms` and `_jaxlib`.
"""

# SPDX-License-Identifier: Apache-2.0
"""Memory of kernels: memory spaces, scratch buffers, loads, stores and atomic updates.

The folder may import `settings`.
"""

# SPDX-License-Identifier: Apache-2.0
"""Members and helpers that only libraries written for JAX need.

The core of the package never imports this folder.
"""

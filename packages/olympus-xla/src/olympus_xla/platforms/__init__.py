# SPDX-License-Identifier: Apache-2.0
"""Platforms: the clients of their devices, plugins, and descriptions of absent machines.

This folder may import `_jaxlib` and the lower packages.
"""

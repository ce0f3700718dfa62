# SPDX-License-Identifier: Apache-2.0
"""Platforms: the clients of their devices, plugins that bring them up, descriptions of machines.

May import `_jaxlib` and the lower packages.
"""

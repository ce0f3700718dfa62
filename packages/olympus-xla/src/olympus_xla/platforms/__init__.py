# SPDX-License-Identifier: Apache-2.0
"""Platforms: clients of devices, plugins for platforms, and descriptions of absent machines.

May import `_jaxlib` and the lower packages.
"""

# SPDX-License-Identifier: Apache-2.0
"""Meshes: devices in an array with named axes, their arrangement, and the current mesh.

Modules here import nothing else of this package.
"""

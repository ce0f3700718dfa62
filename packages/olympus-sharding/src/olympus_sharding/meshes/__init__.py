# SPDX-License-Identifier: Apache-2.0
"""Meshes: devices in an array with named axes, their arrangement, and the mesh in force.

Modules here import nothing else of this package.
"""

# SPDX-License-Identifier: Apache-2.0
"""Placement of programs: devices, and the shardings of operands and results.

`requests` reads the user's options of `jit`, `program_meshes` finds the mesh that a program needs,
`checks` compares shardings with the values of a program, and `resolution` makes a `Placement` (of
`placements`) from all of them. This folder may import `platforms` and `arrays`, not the rest of
`compiling`.
"""

# SPDX-License-Identifier: Apache-2.0
"""Grids of programs: block specifications, the grid mapping of a call, `program_id`.

The folder may import `memory` and the layers below it.
"""

# SPDX-License-Identifier: Apache-2.0
"""Annotations in programs: constraints, resharding, scopes of axis types, inspection.

Modules here import `meshes` and `shardings`, not `manual`.
"""

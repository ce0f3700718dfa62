# SPDX-License-Identifier: Apache-2.0
"""Discharge rules, which express primitives on references as functions of arrays.

Each family of primitives has one file.

May import the other modules of `olympus_ir.references` and below.
"""

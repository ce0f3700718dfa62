# SPDX-License-Identifier: Apache-2.0
"""Discharge rules, which replace primitives on references by functions of arrays.

Each family of primitives has one file.

This package may import the other modules of `olympus_ir.references` and everything that they may
import.
"""

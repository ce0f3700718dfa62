# SPDX-License-Identifier: Apache-2.0
"""Discharge rules, one file a family: primitives with references as functions of arrays.

May import the other modules of `olympus_ir.references` and below.
"""

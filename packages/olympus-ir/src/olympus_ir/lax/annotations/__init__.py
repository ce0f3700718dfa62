# SPDX-License-Identifier: Apache-2.0
"""Annotations of programs for the compiler: their primitives, and functions that apply them.

The modules import no other family.
"""

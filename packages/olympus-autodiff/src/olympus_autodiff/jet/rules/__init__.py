# SPDX-License-Identifier: Apache-2.0
"""The Taylor rules of the instruction set, one module a family of primitives.

Primitives that have none here are pushed along a curve by their jvp rule.
"""

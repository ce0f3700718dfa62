# SPDX-License-Identifier: Apache-2.0
"""The Taylor rules of the instruction set, one module for each family of primitives.

For a primitive without a Taylor rule, `trace.along_curve` uses the jvp rule.
"""

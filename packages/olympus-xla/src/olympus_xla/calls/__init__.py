# SPDX-License-Identifier: Apache-2.0
"""Calls of compiled functions: `jit`, eager operations, stages, and the execution of programs.

This folder may import `compiling` and the layers below it.
"""

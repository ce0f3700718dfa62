# SPDX-License-Identifier: Apache-2.0
"""Frozen functions: a StableHLO program and its weights, stored as data without Python code.

`freezing` makes a `frozen.Frozen` from a function and its arguments. `container` defines the layout
of the file, in the format of `safetensors`. This folder may import `functions` and `trees`.
"""

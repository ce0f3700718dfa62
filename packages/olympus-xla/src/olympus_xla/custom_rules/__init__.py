# SPDX-License-Identifier: Apache-2.0
"""Functions with custom rules for any of the interpreters: `custom_rule`.

The modules import `calls`, `compiling` and `foreign`.
"""

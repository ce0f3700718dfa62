# SPDX-License-Identifier: Apache-2.0
"""Rematerialization: `checkpoint`, its policies, and the list of residuals that are saved.

The modules import `forward`, `reverse` and the package's root.
"""

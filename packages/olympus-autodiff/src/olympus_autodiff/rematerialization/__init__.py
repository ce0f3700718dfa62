# SPDX-License-Identifier: Apache-2.0
"""Rematerialization: `checkpoint`, its policies, and the list of saved residuals.

The modules import `forward`, `reverse` and the package's root.
"""

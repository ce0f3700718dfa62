# SPDX-License-Identifier: Apache-2.0
"""Functions with custom derivatives: `custom_jvp`, `custom_vjp`, linear calls, solvers.

The modules import `forward`, `reverse` and the package's root.
"""

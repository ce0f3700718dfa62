# SPDX-License-Identifier: Apache-2.0
"""Programs of several processes: starting them, watching them, and moving data between them.

May import `calls` and below.
"""

# SPDX-License-Identifier: Apache-2.0
"""Programs of several processes: start, monitoring, and data transfer between processes.

May import `calls` and below.
"""

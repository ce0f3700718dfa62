# SPDX-License-Identifier: Apache-2.0
"""Programs of several processes: start, monitoring, and data transfer between processes.

This folder may import `calls` and the layers below it.
"""

# SPDX-License-Identifier: Apache-2.0
"""Arrays whose lengths vary, in programs compiled for few shapes: `bucketed` and `masked`.

The modules import `calls` and `arrays`.
"""

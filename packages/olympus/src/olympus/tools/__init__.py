# SPDX-License-Identifier: Apache-2.0
"""Command-line tools, such as `olympus_to_ir`."""

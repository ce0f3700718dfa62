# SPDX-License-Identifier: Apache-2.0
"""Memory: TODO say what lives here and what it may import."""

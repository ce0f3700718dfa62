# SPDX-License-Identifier: Apache-2.0
"""Settings: TODO say what lives here and what it may import."""

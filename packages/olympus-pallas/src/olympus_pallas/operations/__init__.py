# SPDX-License-Identifier: Apache-2.0
"""Operations: TODO say what lives here and what it may import."""

# SPDX-License-Identifier: MIT
"""The tables of scripts/provoke_failures: which program is given which wrong input, and what that failure is."""

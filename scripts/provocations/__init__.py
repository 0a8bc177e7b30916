# SPDX-License-Identifier: MIT
"""The tables of scripts/provoke_failures: programs, their wrong input, and what the failures are."""

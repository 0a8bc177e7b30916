// SPDX-License-Identifier: MIT
// Empty: a target needs a source, and this one exists for its precompiled header.

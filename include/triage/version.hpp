// SPDX-License-Identifier: MIT
#pragma once
// The library's version. Every name lives in the inline namespace triage::v0_1, so that two
// versions linked into one program by accident do not mix. There is no ABI promise before 1.0.

#define TRIAGE_VERSION_STRING "0.1.0"

// SPDX-License-Identifier: MIT
#include "base/token.hpp"

#include "base/digest.hpp"

#include <sodium.h>

#include <array>

namespace triage::inline v0_1::detail {

std::string make_token() {
  std::array<unsigned char, 32> secret{};
  randombytes_buf(secret.data(), secret.size());
  return hexadecimal({reinterpret_cast<const char*>(secret.data()), secret.size()});
}

}  // namespace triage::inline v0_1::detail

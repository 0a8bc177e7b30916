// SPDX-License-Identifier: MIT
// CRC-32C (Castagnoli polynomial 0x1EDC6F41, reflected 0x82F63B78; RFC 3720 appendix B.4).
// Debian 12 packages no library for it.
#include "triage/record.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace triage::inline v0_1::detail {
namespace {

constexpr std::uint32_t polynomial = 0x82F63B78U;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? polynomial : 0U);
    table[byte] = crc;
  }
  return table;
}
constexpr auto table = make_table();

std::uint32_t update_portable(std::uint32_t crc, std::string_view bytes) noexcept {
  for (const char c : bytes) {
    crc = (crc >> 8U) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xffU];
  }
  return crc;
}

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] std::uint32_t update_sse42(std::uint32_t crc,
                                                     std::string_view bytes) noexcept {
  std::uint64_t wide = crc;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    wide = _mm_crc32_u64(wide, word);
    bytes.remove_prefix(8);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (const char c : bytes) crc = _mm_crc32_u8(crc, static_cast<unsigned char>(c));
  return crc;
}
#endif

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) noexcept {
#if defined(__x86_64__)
  static const bool fast = __builtin_cpu_supports("sse4.2") != 0;
  if (fast) return ~update_sse42(~seed, bytes);
#endif
  return ~update_portable(~seed, bytes);
}

}  // namespace triage::inline v0_1::detail

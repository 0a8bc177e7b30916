// SPDX-License-Identifier: MIT
#pragma once
// Finds what a store can do beyond CheckpointStore: an interface that it implements besides. Not
// public API.

#include "triage/forwarding_store.hpp"

namespace triage::inline v0_1::detail {

// The store's own; null if it has none. For what a decorator must not be passed by with: one that
// seals records, or that hands out leases itself, forwards those of its own members only.
template <class Extension>
[[nodiscard]] Extension* extension_of(CheckpointStore& store) noexcept {
  return dynamic_cast<Extension*>(&store);
}

// That of the store or, through decorators, of the nearest one behind it.
template <class Extension>
[[nodiscard]] Extension* nearest_extension(CheckpointStore& store) noexcept {
  for (CheckpointStore* asked = &store;;) {
    if (auto* const found = dynamic_cast<Extension*>(asked)) return found;
    auto* const decorator = dynamic_cast<ForwardingStore*>(asked);
    if (decorator == nullptr) return nullptr;
    asked = &decorator->inner();
  }
}

}  // namespace triage::inline v0_1::detail

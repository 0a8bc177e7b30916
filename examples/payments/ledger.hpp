// SPDX-License-Identifier: MIT
#pragma once
// The payment service's own book: what was charged, in an SQLite file of its own.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace payments {

// What the book says about one reference.
struct Charged {
  int times = 0;
  int refunds = 0;
  std::int64_t cents = 0;    // Of all charges together.
  std::int64_t receipt = 0;  // Of the first one.
};

// Thread-safety: one thread at a time. Throws what SQLite throws.
class Ledger {
 public:
  explicit Ledger(const std::string& path);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Counts a request, across restarts; 1 for the first.
  std::uint64_t next_request();
  // Charges, as often as it is asked to: this service knows no idempotency keys. Returns the
  // receipt; empty if a fence above this one was seen for the reference. before_commit is called
  // inside of the transaction.
  std::optional<std::int64_t> charge(const std::string& reference, std::int64_t cents,
                                     std::int64_t fence,
                                     const std::function<void()>& before_commit);
  // The receipt of a charge, if there is one. No charge with a smaller fence is accepted any more,
  // so that the answer is final.
  std::optional<std::int64_t> find(const std::string& reference, std::int64_t fence);
  // Pays a charge back, as often as it is asked to. False if a fence above this one was seen for
  // the reference's refund. before_commit is called inside of the transaction.
  bool refund(const std::string& reference, std::int64_t fence,
              const std::function<void()>& before_commit);
  // Whether the charge was paid back. No refund with a smaller fence is accepted any more.
  bool find_refund(const std::string& reference, std::int64_t fence);
  std::map<std::string, Charged> charges();  // By reference; also what was only paid back.

 private:
  bool raise_fence(const std::string& reference, std::int64_t fence);

  struct Database;
  std::unique_ptr<Database> database_;
};

}  // namespace payments

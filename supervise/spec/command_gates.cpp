// SPDX-License-Identifier: MIT
#include "supervise/spec/command_gates.hpp"

#include <utility>

namespace triage::inline v0_1::supervise {
namespace {

class CommandGate final : public Gate {
 public:
  CommandGate(std::shared_ptr<Gate> gate, std::string command)
      : gate_(std::move(gate)), command_(std::move(command)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return gate_->name(); }
  [[nodiscard]] GateAnswer enter(const GateRequest& request) noexcept override {
    return gate_->enter(of_command(request));
  }
  void leave(const GateRequest& request, std::uint64_t ticket,
             const GateOutcome* outcome) noexcept override {
    gate_->leave(of_command(request), ticket, outcome);
  }
  void withdraw(const GateRequest& request, std::uint64_t ticket) noexcept override {
    gate_->withdraw(of_command(request), ticket);
  }

 private:
  [[nodiscard]] GateRequest of_command(GateRequest request) const noexcept {
    request.tool = command_;
    return request;
  }

  std::shared_ptr<Gate> gate_;
  std::string command_;
};

}  // namespace

std::vector<std::shared_ptr<Gate>> gates_of_command(const std::vector<std::shared_ptr<Gate>>& gates,
                                                    const std::string& command) {
  std::vector<std::shared_ptr<Gate>> all;
  for (const auto& gate : gates) all.push_back(std::make_shared<CommandGate>(gate, command));
  return all;
}

}  // namespace triage::inline v0_1::supervise

#include "capture/in_flight.h"

#include <algorithm>
#include <vector>

namespace dvm::capture {

namespace {

// What this thread is in, in no order: greenlets of one thread end in another than they began. For
// the same reason it is not the stack that holds it, which they move away.
thread_local std::vector<InFlight*> of_thread;

}  // namespace

uint64_t InFlight::present = 0;

void InFlight::add(int more) {
  if (process_ != present) {
    process_ = present;
    count_ = 0;
  }
  count_ += more;
}

void InFlight::begin() {
  of_thread.push_back(this);
  add(1);
}

void InFlight::end() {
  const auto last = std::find(of_thread.rbegin(), of_thread.rend(), this);
  of_thread.erase(std::next(last).base());
  add(-1);
}

void InFlight::after_fork() {
  ++present;
  for (InFlight* each : of_thread) each->add(1);
}

}  // namespace dvm::capture

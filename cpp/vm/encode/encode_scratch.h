// What an Arena keeps for the making of Programs, reused from call to call.
#pragma once

#include "vm/encode/drafts.h"
#include "vm/tile/bind.h"
#include "vm/tile/schedule.h"

namespace dvm::vm {

struct EncodeScratch {
  Stage stage, next, uncut, rows;
  Schedules schedules;
  Drafts drafts;
};

}  // namespace dvm::vm

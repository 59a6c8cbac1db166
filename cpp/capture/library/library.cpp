#include "capture/library/library.h"

#include <algorithm>

#include "core/error.h"

namespace dvm::capture {

LibraryTable library_table = {};

void add_library(Library& library) {
  if (std::ranges::find(libraries(), &library) != libraries().end()) return;
  DVM_CHECK(library_table.count < kMostLibraries, "too many libraries of arrays");
  library.number = library_table.count;
  library_table.all[library_table.count++] = &library;
}

}  // namespace dvm::capture

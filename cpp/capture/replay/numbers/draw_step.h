// A number that a generator draws, by its method in C or by what the library has instead. A turn
// that is not for the machine leaves what it drew to whoever begins it again.
#pragma once

#include <optional>
#include <vector>

#include "capture/library/library.h"
#include "capture/replay/numbers/object_steps.h"

namespace dvm::capture::numbers {

class DrawStep final : public ObjectStep {
 public:
  // names: of the last arguments, a tuple; null: none has one.
  DrawStep(std::vector<Number> arguments, PyObject* names, Typed result, Attempt& attempt)
      : arguments_(std::move(arguments)), names_(names), result_(result), attempt_(attempt) {}
  bool run(Cell* cells) override;

 protected:
  bool is_for(PyObject* method) override;

 private:
  static constexpr size_t kMost = 4;  // arguments

  // Notes what it draws, which may be no number (false).
  bool draw(const Cell* cells, Type& type, Cell& number);
  bool draw_by_method(const Cell* cells, Type& type, Cell& number);

  const std::vector<Number> arguments_;
  PyObject* const names_;
  const Typed result_;
  Attempt& attempt_;
  PyObject* owner_ = nullptr;
  std::optional<Library::Drawing> drawing_;
  numbers::Type drawn_;
};

}  // namespace dvm::capture::numbers

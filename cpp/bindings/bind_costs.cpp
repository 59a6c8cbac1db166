// The constants of the cost model: shown, measured, and taken from a file's text.
#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "cpu/calibrate.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

// (name, default, in use, synopsis)
py::list cost_table() {
  vm::CostTable defaults, current = vm::cost_table();
  std::vector<double> values;
  vm::for_each_cost(current, [&](const vm::CostEntry&, double& value) { values.push_back(value); });
  py::list rows;
  vm::for_each_cost(defaults, [&](const vm::CostEntry& entry, double& value) {
    rows.append(py::make_tuple(entry.name, value, values[rows.size()], entry.synopsis));
  });
  return rows;
}

// False, and nothing has changed, where the text is of another machine.
bool use_calibration(const std::string& text) {
  const vm::Calibration calibration = vm::parse_calibration(text);
  if (calibration.machine != cpu::machine_name()) return false;
  vm::set_cost_table(calibration.table);
  return true;
}

}  // namespace

void bind_costs(py::module_& module) {
  module.def("cost_table", cost_table);
  module.def("use_calibration", use_calibration);
  module.def("reset_costs", [] { vm::set_cost_table({}); });
  module.def("calibrate", [] {
    const py::gil_scoped_release unlock;
    return vm::print(cpu::calibrate());
  });
}

}  // namespace dvm::bindings

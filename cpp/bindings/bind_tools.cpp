// Tools: passes on text, bytecode to text and back, the reference evaluator, and the tables that
// Python code reads instead of repeating them.
#include <pybind11/stl.h>

#include <cstring>

#include "bindings/bindings.h"
#include "bindings/python_passes.h"
#include "capture/numpy/numpy_api.h"
#include "capture/replay/signature.h"
#include "core/ops/docs.h"
#include "core/ops/elementwise.h"
#include "core/ops/fp_flags.h"
#include "core/reference/reference.h"
#include "cpu/cpu_target.h"
#include "cpu/simd_level.h"
#include "driver/compile.h"
#include "vm/isa/program.h"
#include "vm/target/launch_words.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

py::bytes to_bytes(const std::vector<uint64_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t)};
}

std::vector<uint64_t> to_words(const std::string& bytes) {
  if (bytes.size() % sizeof(uint64_t) != 0) {
    core::fail(core::ErrorCode::bytecode_truncated,
               std::to_string(bytes.size()) + " bytes are not whole 64-bit words");
  }
  std::vector<uint64_t> words(bytes.size() / sizeof(uint64_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

core::Array to_array(py::handle object) {
  py::object contiguous =
      py::reinterpret_steal<py::object>(PyArray_FROM_OF(object.ptr(), NPY_ARRAY_CARRAY_RO));
  if (!contiguous) throw py::error_already_set();
  auto* source = reinterpret_cast<PyArrayObject*>(contiguous.ptr());
  const auto dtype = capture::dtype_of(source);
  if (!dtype) core::fail(core::ErrorCode::unsupported, capture::describe(contiguous.ptr()));
  core::Array array =
      core::make_array(*dtype, {PyArray_DIMS(source), PyArray_DIMS(source) + PyArray_NDIM(source)});
  std::memcpy(array.data.data(), PyArray_DATA(source), array.data.size());
  return array;
}

py::object to_numpy(const core::Array& array) {
  PyObject* made = PyArray_SimpleNew(static_cast<int>(array.shape.size()),
                                     const_cast<int64_t*>(array.shape.data()),
                                     capture::type_number(array.dtype));
  if (made == nullptr) throw py::error_already_set();
  std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(made)), array.data.data(),
              array.data.size());
  return py::reinterpret_steal<py::object>(made);
}

py::list reference(const std::string& text, const py::args& inputs) {
  std::vector<core::Array> arrays;
  for (py::handle input : inputs) arrays.push_back(to_array(input));
  py::list results;
  for (const core::Array& result : core::evaluate(core::parse_graph(text), arrays)) {
    results.append(to_numpy(result));
  }
  return results;
}

void bind_tables(py::module_& module) {
  py::list ufuncs, numeric, dtypes, targets;
  py::dict rules;
  for (const core::ElementwiseInfo& op : core::kElementwise) {
    if (!op.numpy.empty()) ufuncs.append(py::make_tuple(op.name, op.numpy));
    if (op.operands == core::OperandRule::numeric) numeric.append(op.name);
    py::list taken;
    for (int d = 0; d < core::kDTypeCount; ++d) {
      const auto dtype = static_cast<core::DType>(d);
      const bool known = !capture::numpy_name(dtype).empty();
      if (known && core::allows(op.operands, dtype)) taken.append(core::to_string(dtype));
    }
    rules[py::str(std::string(op.name))] =
        py::make_tuple(op.arity, py::tuple(taken), op.result == core::ResultRule::boolean);
  }
#define DVM_COMPARE(name, op, numpy) ufuncs.append(py::make_tuple(#name, numpy));
#include "core/ops/compare.def"
#undef DVM_COMPARE
  for (int d = 0; d < core::kDTypeCount; ++d) {
    const auto dtype = static_cast<core::DType>(d);
    const std::string_view name = capture::numpy_name(dtype);
    if (!name.empty()) dtypes.append(py::make_tuple(name, core::to_string(dtype)));
  }
  py::dict cores;
  for (const vm::TargetTraits& target : vm::all_targets()) {
    targets.append(target.name);
    cores[py::str(std::string(target.name))] = py::make_tuple(target.cores, target.cubes);
  }
  py::list views;
  for (const core::OpInfo& op : core::all_ops()) {
    if (op.op_class == core::OpClass::view) views.append(op.name);
  }
  py::dict flags;  // by their names in np.geterr()
  flags["divide"] = core::kDivideByZero;
  flags["over"] = core::kOverflow;
  flags["under"] = core::kUnderflow;
  flags["invalid"] = core::kInvalid;
  module.attr("fp_flags") = flags;
  module.attr("tied_zeros_flag") = core::kTiedZeros;
  module.attr("ufunc_table") = ufuncs;
  module.attr("ufunc_rules") = rules;
  module.attr("numeric_ops") = py::frozenset(numeric);
  module.attr("dtype_table") = dtypes;
  module.attr("target_names") = targets;
  module.attr("target_cores") = cores;
  module.attr("view_ops") = py::frozenset(views);
}

}  // namespace

void bind_tools(py::module_& module) {
  bind_tables(module);
  module.def(
      "run_pass",
      [](const std::string& name, const std::string& options, const std::string& text,
         const py::object& passes) {
        return driver::run_pass(name, options, text, passes_of(passes));
      },
      py::arg("name"), py::arg("options"), py::arg("text"), py::arg("passes") = py::none());
  module.def("pass_names", driver::pass_names);
  module.def("thread_count", &cpu::thread_count);
  module.def("simd_level", [] { return cpu::to_string(cpu::simd_level()); });
  module.def("may_raise", [](const std::string& op, const std::string& dtype) {
    const auto known = core::op_from_text(op);
    const auto made = core::dtype_from_text(dtype);
    if (!known || !made) throw py::value_error("no such op or dtype: " + op + ", " + dtype);
    return core::may_raise(*known, *made);
  });
  module.def("region_members", driver::region_members);
  module.def("region_operands", driver::region_operands);
  module.def("explain_pair",
             [](const std::string& graph, const std::string& target, core::Value a, core::Value b) {
               const core::Decision decision = driver::explain_pair(graph, target, a, b);
               return py::make_tuple(decision.verdict == "yes", decision.rule, decision.reason);
             });
  module.def("reference", reference);
  module.def("assemble", [](const std::string& text) { return to_bytes(vm::assemble(text)); });
  module.def("disassemble", [](const py::bytes& program) {
    const std::vector<uint64_t> words = to_words(program);
    vm::verify(words);
    return vm::disassemble(vm::Program(words));
  });
  // Of what a watched call kept of a launch: its Program, and those that follow it.
  module.def("disassemble_launch", [](const py::bytes& launch) {
    py::list texts;
    const std::vector<uint64_t> words = to_words(launch);
    vm::view_launch(words, true).for_each_program([&](const vm::Program& program) {
      texts.append(vm::disassemble(program));
    });
    return texts;
  });
  module.def("isa_markdown", vm::isa_markdown);
  module.def("ops_markdown", core::ops_markdown);
}

}  // namespace dvm::bindings

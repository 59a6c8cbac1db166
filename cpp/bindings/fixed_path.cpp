// Paths of the former kind (fixed guards, one graph, mocks) as steps.
#include <pybind11/stl.h>

#include <map>

#include "bindings/path_parser.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

class Translation {
 public:
  explicit Translation(const py::object& spec) : spec_(spec) {}

  py::list run(const py::tuple& arguments) {
    bool supported = true;
    for (py::handle argument : arguments) {
      const int r = fetch(py::make_tuple("argument", next_));
      add("guard_signature", r, argument);
      using capture::Argument;
      const Argument kind = capture::argument_of(capture::signature_of(argument.ptr()));
      if (kind == Argument::foreign || kind == Argument::other) {
        supported = false;
        add("fallback", "an argument dvm does not take (" + capture::describe(argument.ptr()) + ")",
            spec_.attr("reason_at"));
        break;
      }
    }
    if (!supported) return steps_;
    if (!spec_.attr("reason").cast<std::string>().empty()) {
      add("fallback", spec_.attr("reason"), spec_.attr("reason_at"));
      return steps_;
    }
    guards();
    body();
    return steps_;
  }

 private:
  template <typename... Items>
  void add(Items&&... items) {
    steps_.append(py::make_tuple(std::forward<Items>(items)...));
  }

  int fetch(const py::tuple& source) {
    const auto kind = source[0].cast<std::string>();
    const int r = next_++;
    if (kind == "variable") {
      add("variable", r, source[1], source[2]);
    } else {
      add(kind, r, source[1]);
    }
    return r;
  }

  void guards() {
    py::list names;
    for (py::handle item : spec_.attr("identity_guards")) {
      const auto guard = item.cast<py::tuple>();
      const auto source = guard[0].cast<py::tuple>();
      const auto kind = source[0].cast<std::string>();
      if (kind == "variable") {
        names.append(py::make_tuple(source[1], source[2],
                                    guard.size() == 1
                                        ? py::reinterpret_borrow<py::object>(missing())
                                        : py::object(guard[1])));
      } else if (kind == "code") {
        add("guard_code", source[1], guard[1], source[1].attr("__defaults__"),
            source[1].attr("__kwdefaults__"));
      } else {
        const int r = fetch(source);
        add("guard_is", r, guard[1]);
      }
    }
    add("guard_names", names);
    for (const char* list : {"signature_guards", "value_guards"}) {
      for (py::handle item : spec_.attr(list)) {
        const auto guard = item.cast<py::tuple>();
        const int r = fetch(guard[0].cast<py::tuple>());
        add(std::string(list) == "value_guards" ? "guard_value" : "guard_signature", r, guard[1]);
      }
    }
  }

  void body() {
    py::list tensors, scalars, outputs;
    for (py::handle source : spec_.attr("tensors")) tensors.append(fetch(source.cast<py::tuple>()));
    for (py::handle source : spec_.attr("scalars")) scalars.append(fetch(source.cast<py::tuple>()));
    const auto values = spec_.attr("graph").attr("outputs").cast<std::vector<int>>();
    std::map<std::pair<int, std::string>, int> made;
    for (py::handle item : spec_.attr("mocks")) {
      const auto [name, index] = item.cast<std::pair<std::string, int>>();
      if ((name != "result" && name != "scalar") || made.count({index, name})) continue;
      made[{index, name}] = next_;
      outputs.append(py::make_tuple(values[static_cast<size_t>(index)], next_++,
                                    name == "result" ? "array" : "numpy", py::none()));
    }
    add("run", spec_.attr("graph"), tensors, scalars, outputs, 0);
    std::vector<int> stack;
    for (py::handle item : spec_.attr("mocks")) {
      const auto [name, index] = item.cast<std::pair<std::string, int>>();
      if (name == "result" || name == "scalar") {
        stack.push_back(made[{index, name}]);
      } else if (name == "fetch") {
        stack.push_back(fetch(spec_.attr("returned")[py::int_(index)].cast<py::tuple>()));
      } else if (name == "constant") {
        add("constant", next_, spec_.attr("constants")[py::int_(index)]);
        stack.push_back(next_++);
      } else {
        const std::vector<int> elements(stack.end() - index, stack.end());
        stack.resize(stack.size() - elements.size());
        add("tuple", next_, elements);
        stack.push_back(next_++);
      }
    }
    add("return", stack.back());
  }

  const py::object& spec_;
  py::list steps_;
  int next_ = 0;
};

}  // namespace

std::unique_ptr<capture::Path> parse_fixed_path(const py::object& spec,
                                                const py::tuple& arguments) {
  spec.attr("steps") = Translation(spec).run(arguments);
  auto path = parse_path(spec, arguments);
  for (const auto& segment : path->segments) {
    for (py::handle callee : spec.attr("callees")) {
      segment->callees.push_back(capture::Ref::borrow(callee.ptr()));
    }
  }
  return path;
}

}  // namespace dvm::bindings

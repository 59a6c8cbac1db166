// Loops and recursive functions of captured functions: made and filled by the lowering, read by
// explain and the tests.
#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/path_parser.h"
#include "capture/record/recorded_events.h"
#include "capture/record/turn_nodes.h"
#include "capture/record/turn_shape.h"
#include "capture/replay/loop.h"
#include "capture/replay/recursion.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

capture::Loop& loop_in(py::handle object) {
  if (!capture::is_loop(object.ptr())) throw py::type_error("expected a loop");
  return capture::loop_of(object.ptr());
}

capture::Subroutine& subroutine_in(py::handle object) {
  if (!capture::is_subroutine(object.ptr())) throw py::type_error("expected a loop or a recursion");
  return capture::subroutine_of(object.ptr());
}

py::object held(std::unique_ptr<capture::Subroutine> routine) {
  PyObject* const object = capture::new_subroutine(std::move(routine));
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

void check_events(const py::list& events, py::ssize_t begin, py::ssize_t end) {
  if (begin < 0 || end > std::ssize(events)) throw py::index_error("no such events");
}

}  // namespace

void bind_loop(py::module_& module) {
  module.attr("Subroutine") = py::reinterpret_steal<py::object>(capture::make_subroutine_type());
  module.def("new_loop", [](int32_t variables, std::vector<int32_t> carried,
                            std::vector<int32_t> at_end, int end) {
    capture::Loop::Layout layout{variables, std::move(carried), std::move(at_end),
                                 capture::Ref::steal(PyLong_FromLong(end))};
    for (const auto* slots : {&layout.carried, &layout.at_end}) {
      for (const int32_t slot : *slots) {
        if (slot < 0 || slot >= variables) throw py::value_error("no such variable of the loop");
      }
    }
    return held(std::make_unique<capture::Loop>(std::move(layout)));
  });
  module.def("new_recursion", [](int32_t parameters) {
    return held(std::make_unique<capture::Recursion>(parameters));
  });
  module.def("take_missed", [](py::handle object) {
    if (!capture::is_recursion(object.ptr())) throw py::type_error("expected a recursion");
    return capture::recursion_of(object.ptr()).take_missed();
  });
  module.def("add_way", [](py::handle object, const py::object& spec) {
    capture::Subroutine& routine = subroutine_in(object);
    return routine.add(parse_path(spec, py::tuple(static_cast<size_t>(routine.arguments()))));
  });
  module.def("count_ways", [](py::handle object) { return subroutine_in(object).paths().size(); });
  module.def("loop_changed", [](py::handle object) { loop_in(object).changed(); });
  module.def("watch_count", [](py::handle object) { loop_in(object).watch_count(); });
  module.def("loop_is_steady", [](py::handle object) { return loop_in(object).is_steady(); });
  module.def("loop_state", [](py::handle object) {
    const capture::Loop& loop = loop_in(object);
    py::dict state;
    state["version"] = loop.version();
    state["missed_turn"] = loop.missed_turn();
    state["turns_of_numbers"] = loop.turns_of_numbers();
    state["turns_replayed"] = loop.turns_replayed();
    return state;
  });
  module.def("loop_replayed_at", [](py::handle object) -> py::object {
    const auto at = loop_in(object).replayed_at();
    if (!at) return py::none();
    return py::str(core::to_string(*at));
  });
  module.def("index_recording", [](const py::list& nodes, const py::list& events) {
    const capture::RecordingIndex index = capture::index_of(nodes.ptr(), events.ptr());
    return py::make_tuple(index.marks, index.layouts, index.seen);
  });
  py::class_<capture::TurnNodes>(module, "TurnNodes", py::module_local())
      .def(py::init([](const py::list& nodes, const py::list& events, py::ssize_t begin,
                       py::ssize_t end, const std::vector<py::ssize_t>& given) {
             check_events(events, begin, end);
             return capture::TurnNodes(nodes.ptr(), events.ptr(), begin, end, given);
           }),
           py::keep_alive<1, 2>(), py::keep_alive<1, 3>())
      .def_property_readonly("outside", &capture::TurnNodes::outside)
      .def("is_inside", &capture::TurnNodes::is_inside)
      .def("first", &capture::TurnNodes::first);
  module.def("shape_of_turn",
             [](const py::list& nodes, const py::list& events, py::ssize_t begin, py::ssize_t end,
                const std::unordered_map<py::ssize_t, py::tuple>& rolled, const py::dict& called) {
               check_events(events, begin, end);
               capture::RolledLoops loops;
               for (const auto& [enter, variables] : rolled) loops[enter] = variables.ptr();
               const capture::TurnShape shape = capture::shape_of_turn(
                   nodes.ptr(), events.ptr(), begin, end, loops, called.ptr());
               py::set within;
               for (const int64_t each : shape.within) within.add(each);
               return py::make_tuple(shape.own, within);
             });
}

}  // namespace dvm::bindings

#include "capture/numpy/drawings.h"

#include <dlfcn.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "capture/numpy/numpy_api.h"

// Behind NumPy's other headers.
#include <numpy/random/bitgen.h>

namespace dvm::capture {

namespace {

using None = double (*)(bitgen_t*);
using One = double (*)(bitgen_t*, double);
using Two = double (*)(bitgen_t*, double, double);
using Bounded = void (*)(bitgen_t*, uint64_t least, uint64_t range, npy_intp count, bool masked,
                         uint64_t* drawn);

bitgen_t* generator_of(void* state) { return static_cast<bitgen_t*>(state); }

// The functions of NumPy's own that have no equal here, to the bit: they are those of the module
// that has the generators, which is imported. Null: it does not show them.
struct Functions {
  None normal = nullptr, exponential = nullptr;
  Two normal_of = nullptr, uniform_of = nullptr;
  Bounded bounded = nullptr;

  explicit Functions(PyObject* module) {
    const Ref file = Ref::steal(PyObject_GetAttrString(module, "__file__"));
    const char* const path = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
    void* const library = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    PyErr_Clear();
    if (library == nullptr) return;
    normal = std::bit_cast<None>(dlsym(library, "random_standard_normal"));
    exponential = std::bit_cast<None>(dlsym(library, "random_standard_exponential"));
    normal_of = std::bit_cast<Two>(dlsym(library, "random_normal"));
    uniform_of = std::bit_cast<Two>(dlsym(library, "random_uniform"));
    bounded = std::bit_cast<Bounded>(dlsym(library, "random_bounded_uint64_fill"));
  }
};
const Functions* g_functions = nullptr;

// Of a scale: the method says what is wrong with it.
bool is_scale(double x) { return !std::isnan(x) && !std::signbit(x); }

bool draw_random(void* state, const double*, double& drawn) {
  bitgen_t* const generator = generator_of(state);
  drawn = generator->next_double(generator->state);
  return true;
}
bool draw_standard_normal(void* state, const double*, double& drawn) {
  drawn = g_functions->normal(generator_of(state));
  return true;
}
bool draw_normal(void* state, const double* p, double& drawn) {
  if (!is_scale(p[1])) return false;
  drawn = g_functions->normal_of(generator_of(state), p[0], p[1]);
  return true;
}
bool draw_uniform(void* state, const double* p, double& drawn) {
  const double range = p[1] - p[0];
  if (!is_scale(range) || !std::isfinite(range)) return false;
  drawn = g_functions->uniform_of(generator_of(state), p[0], range);
  return true;
}
bool draw_standard_exponential(void* state, const double*, double& drawn) {
  drawn = g_functions->exponential(generator_of(state));
  return true;
}

// Up to the first, or from that on below the second, which is NaN where it is left out.
bool draw_integers(void* state, const double* p, int64_t& drawn) {
  constexpr double kWhole = 1LL << 53;  // up to here a float is one integer
  const bool is_one = std::isnan(p[1]);
  const double low = is_one ? 0 : p[0], high = is_one ? p[0] : p[1];
  const auto is_whole = [](double x) { return std::fabs(x) < kWhole && x == std::trunc(x); };
  if (!is_whole(low) || !is_whole(high) || low >= high) return false;
  const auto least = static_cast<int64_t>(low), most = static_cast<int64_t>(high) - 1;
  uint64_t found = 0;
  g_functions->bounded(generator_of(state), static_cast<uint64_t>(least),
                       static_cast<uint64_t>(most - least), 1, false, &found);
  drawn = static_cast<int64_t>(found);
  return true;
}

struct Row {
  const char* name;
  decltype(Library::Drawing::function) function;
  std::vector<double> defaults;
  bool is_there;
  decltype(Library::Drawing::integer) integer = nullptr;
  size_t least = 0;            // parameters
  PyObject* method = nullptr;  // of the class
};

struct Table {
  PyTypeObject* type = nullptr;
  std::vector<Row> rows;

  Table() {
    const Ref module = Ref::steal(PyImport_ImportModule("numpy.random._generator"));
    PyObject* const made = module ? PyObject_GetAttrString(module.get(), "Generator") : nullptr;
    if (made == nullptr) {
      PyErr_Clear();
      return;
    }
    type = reinterpret_cast<PyTypeObject*>(made);
    g_functions = new Functions(module.get());
    const bool normal = g_functions->normal != nullptr;
    rows = {{"random", draw_random, {}, true},
            {"standard_normal", draw_standard_normal, {}, normal},
            {"normal", draw_normal, {0, 1}, g_functions->normal_of != nullptr},
            {"uniform", draw_uniform, {0, 1}, g_functions->uniform_of != nullptr},
            {"standard_exponential",
             draw_standard_exponential,
             {},
             g_functions->exponential != nullptr},
            {"integers",
             nullptr,
             {0, std::numeric_limits<double>::quiet_NaN()},
             g_functions->bounded != nullptr,
             draw_integers,
             1}};
    for (Row& row : rows) row.method = PyDict_GetItemString(type->tp_dict, row.name);
  }
};

}  // namespace

std::optional<Library::Drawing> numpy_drawing_of(PyObject* method, size_t parameters) {
  static const auto& table = *new Table();
  PyObject* const self = PyMethod_Check(method) ? PyMethod_GET_SELF(method) : nullptr;
  if (self == nullptr || table.type == nullptr || !Py_IS_TYPE(self, table.type)) return {};
  for (const Row& row : table.rows) {
    if (row.method != PyMethod_GET_FUNCTION(method)) continue;
    const bool takes = row.least <= parameters && parameters <= row.defaults.size();
    if (!row.is_there || !takes) return {};
    const Ref bits = Ref::steal(PyObject_GetAttrString(self, "bit_generator"));
    const Ref capsule = bits ? Ref::steal(PyObject_GetAttrString(bits.get(), "capsule")) : Ref();
    void* const state = capsule ? PyCapsule_GetPointer(capsule.get(), "BitGenerator") : nullptr;
    if (state == nullptr) return PyErr_Clear(), std::nullopt;
    return Library::Drawing{row.function, state, row.defaults, row.integer};
  }
  return {};
}

}  // namespace dvm::capture

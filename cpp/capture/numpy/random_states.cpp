#include "capture/numpy/random_states.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "capture/numpy/numpy_api.h"

// Behind NumPy's other headers.
#include <numpy/random/bitgen.h>

namespace dvm::capture {

namespace {

using Bytes = std::span<std::byte>;

PyTypeObject* type_of(const char* module, const char* name) {
  const Ref imported = Ref::steal(PyImport_ImportModule(module));
  PyObject* const type = imported ? PyObject_GetAttrString(imported.get(), name) : nullptr;
  if (type == nullptr) PyErr_Clear();
  return reinterpret_cast<PyTypeObject*>(type);
}

Bytes bytes_of(PyObject* object, size_t begin, size_t end) {
  return {reinterpret_cast<std::byte*>(object) + begin, end - begin};
}

// No header says where the states are, so each is tried once, on generators of its own: what does
// not draw again what it drew is none.

// What a bit generator has beyond its base.
Bytes beyond_base(PyObject* bits, const PyTypeObject& base) {
  return bytes_of(bits, static_cast<size_t>(base.tp_basicsize),
                  static_cast<size_t>(Py_TYPE(bits)->tp_basicsize));
}

// More than any of them makes at once; an odd number of halves leaves one for later.
std::vector<uint64_t> drawn_by(const bitgen_t& generator) {
  std::vector<uint64_t> drawn(1000);
  for (uint64_t& each : drawn) each = generator.next_uint64(generator.state);
  for (int i = 0; i < 3; ++i) drawn.push_back(generator.next_uint32(generator.state));
  return drawn;
}

bool draws_again(PyTypeObject* type, const PyTypeObject& base) {
  if (type == nullptr || type->tp_base != &base || type->tp_dictoffset != 0 ||
      type->tp_weaklistoffset != 0 || type->tp_itemsize != 0) {
    return false;
  }
  const Ref bits = Ref::steal(PyObject_CallFunction(reinterpret_cast<PyObject*>(type), "i", 5));
  const Ref capsule = bits ? Ref::steal(PyObject_GetAttrString(bits.get(), "capsule")) : Ref();
  const void* const found = capsule ? PyCapsule_GetPointer(capsule.get(), "BitGenerator") : nullptr;
  if (found == nullptr) return PyErr_Clear(), false;
  const auto& generator = *static_cast<const bitgen_t*>(found);
  const Bytes state = beyond_base(bits.get(), base);
  if (state.empty()) return false;
  // With a half that is left, too.
  for (int times = 0; times < 2; ++times) {
    const std::vector<std::byte> kept(state.begin(), state.end());
    const auto first = drawn_by(generator);
    std::ranges::copy(kept, state.begin());
    if (drawn_by(generator) != first) return false;
  }
  return true;
}

// A RandomState keeps the second normal of a pair beside whether it has one.
struct Spare {
  int32_t has;
  double normal;
};

// Where, in bytes; 0: it is not found.
size_t place_of_spare(PyTypeObject* type) {
  if (type == nullptr) return 0;
  const Ref random = Ref::steal(PyObject_CallFunction(reinterpret_cast<PyObject*>(type), "i", 5));
  const auto called = [&](const char* name) {
    Ref result = random ? Ref::steal(PyObject_CallMethod(random.get(), name, nullptr)) : Ref();
    PyErr_Clear();
    return result;
  };
  const auto spare_at = [&](size_t place) {
    Spare spare;
    std::memcpy(&spare, bytes_of(random.get(), place, place + sizeof spare).data(), sizeof spare);
    return spare;
  };
  if (!called("standard_normal")) return 0;
  const Ref state = called("get_state");  // ("MT19937", key, place, has_gauss, gauss)
  if (!state || !PyTuple_Check(state.get()) || PyTuple_GET_SIZE(state.get()) != 5) return 0;
  const double normal = PyFloat_AsDouble(PyTuple_GET_ITEM(state.get(), 4));
  const auto size = static_cast<size_t>(type->tp_basicsize);
  for (size_t place = sizeof(PyObject); place + sizeof(Spare) <= size; place += sizeof normal) {
    if (spare_at(place).has != 1 || spare_at(place).normal != normal) continue;
    return called("standard_normal") && spare_at(place).has == 0 ? place : 0;
  }
  return 0;
}

struct States {
  PyTypeObject* base = type_of("numpy.random.bit_generator", "BitGenerator");
  PyTypeObject* generator = type_of("numpy.random", "Generator");
  PyTypeObject* random_state = type_of("numpy.random", "RandomState");
  std::vector<PyTypeObject*> bits;  // those whose bytes are known
  size_t spare = place_of_spare(random_state);

  States() {
    if (base == nullptr) return;
    for (const char* name : {"PCG64", "MT19937", "PCG64DXSM", "Philox", "SFC64"}) {
      PyTypeObject* const type = type_of("numpy.random", name);
      if (draws_again(type, *base)) bits.push_back(type);
    }
  }
};

}  // namespace

Library::RandomState numpy_random_state_of(PyObject* generator) {
  static const auto& known = *new States();
  const bool is_old = known.spare != 0 && Py_IS_TYPE(generator, known.random_state);
  if (!is_old && !Py_IS_TYPE(generator, known.generator)) return {};
  const char* const name = is_old ? "_bit_generator" : "bit_generator";
  Ref bits = Ref::steal(PyObject_GetAttrString(generator, name));
  if (!bits) return PyErr_Clear(), Library::RandomState();
  if (std::ranges::find(known.bits, Py_TYPE(bits.get())) == known.bits.end()) return {};
  const Bytes state = beyond_base(bits.get(), *known.base);
  const Bytes spare =
      is_old ? bytes_of(generator, known.spare, known.spare + sizeof(Spare)) : Bytes();
  return {std::move(bits), {state, spare}};
}

}  // namespace dvm::capture

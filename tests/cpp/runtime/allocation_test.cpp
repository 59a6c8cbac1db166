// Counts every heap allocation of the process to show that a call makes none.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>

#include "core/error.h"
#include "core/verifies.h"
#include "cpu/cpu_target.h"
#include "runtime/execute/executor.h"

// Sanitizers bring an allocator of their own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<int64_t> allocations{0};
}

// NOLINTBEGIN: the names are the C library's.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) {
  ++allocations;
  return __libc_realloc(block, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
}
// NOLINTEND

namespace dvm::runtime {
namespace {

// A host whose arrays are a fixed few, so that it allocates nothing either.
class FixedHost final : public HostCalls {
 public:
  bool allocate(core::DType dtype, std::span<const int64_t> shape, BufferView& out) override {
    for (Array& array : arrays_) {
      if (array.references > 0) continue;
      out = {.data = array.memory.data(), .owner = &array, .dtype = dtype};
      out.rank = static_cast<int32_t>(shape.size());
      int64_t stride = core::byte_size(dtype);
      for (size_t d = shape.size(); d-- > 0;) {
        out.shape[d] = shape[d];
        out.strides[d] = stride;
        stride *= shape[d];
      }
      array.references = 1;
      return stride <= std::ssize(array.memory);
    }
    return false;
  }
  bool call(const HostCall& call, std::span<BufferView> results) override {
    for (BufferView& result : results) {
      result = call.arrays[0];
      retain(result.owner);
    }
    return call.sizes.size() == 2 && call.numbers.size() == 1;
  }
  bool call_into(const HostCall& call, std::span<const BufferView> into) override {
    std::memcpy(into[0].data, call.arrays[0].data, sizeof(float));
    return true;
  }
  void retain(HostValue value) override { ++static_cast<Array*>(value)->references; }
  void release(HostValue value) override { --static_cast<Array*>(value)->references; }
  void unlock() override {}
  void lock() override {}
  int64_t live() const {
    int64_t count = 0;
    for (const Array& array : arrays_) count += array.references > 0;
    return count;
  }

 private:
  struct Array {
    std::array<std::byte, 1 << 18> memory;
    int64_t references = 0;
  };
  std::vector<Array> arrays_ = std::vector<Array>(8);
};

// Temporaries, a reduction in stages, views and a call, over sizes that change with every call.
constexpr const char* kPlan =
    "plan v1 {\ninput b0: f32 rank 2\ninput b1: f32 rank 1\nscalar s0: f32\ncallee 0: \"f\"\n"
    "region r0 = graph v1 {\n%0 = input f32[s0, s1]\n%1 = input f32[s1]\n%2 = scalar f32[]\n"
    "%3 = broadcast(%1) f32[s0, s1]\n%4 = broadcast(%2) f32[s0, s1]\n"
    "%5 = add(%0, %3) f32[s0, s1]\n%6 = mul(%5, %4) f32[s0, s1]\nreturn %6\n}\n"
    "region r1 = graph v1 {\n%0 = input f32[s0, s1]\n%1 = sum(%0) f32[1, 1] {axes = [0, 1]}\n"
    "return %1\n}\n"
    "i0 = size b0, 0\ni1 = size b0, 1\ni2 = size b1, 0\ncheck eq, i1, i2\n"
    "b2 = alloc f32, [i0, i1]\nrun r0, [b0, b1], [b2], [i0, i1], [s0]\n"
    "b3 = transpose b2, [1, 0]\ni3 = literal 1\nb4 = host_alloc f32, [i3, i3]\n"
    "run r1, [b2], [b4], [i0, i1], []\nfree b2\n"
    "b5, b6 = call 0, [b4], [i0, i1], [s0], 3, [0, 2], [f32, f32], [2, 2]\n"
    "b7 = host_alloc f32, [i3, i3]\ncall_into 0, [b6], [], [], [b7]\nfree b6\nret [b5, b7]\n}\n";

TEST(Allocation, SteadyStateMakesNone) {
  core::verifies() = false;  // which allocates
  const Plan plan = parse_plan(kPlan);
  const std::unique_ptr<vm::Target> target = cpu::make_cpu_target();
  FixedHost host;
  auto call = [&](int64_t rows, int64_t columns) {
    BufferView inputs[2], results[2];
    const int64_t shape[] = {rows, columns};
    ASSERT_TRUE(host.allocate(core::DType::f32, shape, inputs[0]));
    ASSERT_TRUE(host.allocate(core::DType::f32, {shape + 1, 1}, inputs[1]));
    const core::Scalar scalar = core::Scalar::of_float(2);
    ExecutionContext& context = ExecutionContext::acquire();
    const Outcome outcome = execute(plan, *target, host, inputs, {&scalar, 1}, results, context);
    ExecutionContext::release(context);
    ASSERT_EQ(outcome, Outcome::done);
    for (const BufferView& view : {inputs[0], inputs[1], results[0], results[1]}) {
      host.release(view.owner);
    }
  };
  auto sizes = [&](int64_t k) { call(1 + k * 7 % 61, 1 + k * 13 % 997); };
  for (int64_t k = 0; k < 1000; ++k) sizes(k);
  const int64_t before = allocations;
  for (int64_t k = 0; k < 1000; ++k) sizes(k);
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(host.live(), 0);
}

TEST(Allocation, AreCounted) {
  const int64_t before = allocations;
  int* volatile one = new int(1);  // volatile: an optimiser may leave the pair out
  delete one;
  std::free(std::aligned_alloc(64, 64));
  EXPECT_EQ(allocations - before, 2);
}

}  // namespace
}  // namespace dvm::runtime

#endif

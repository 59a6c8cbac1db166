// The rules of a Plan. They make execution memory-safe whatever the arguments hold: what depends on
// sizes is checked as the Plan runs, everything else here.
//
//   shape of the list   packed operands, one note per instruction, a single ret at the end
//   registers           defined once, in order, before use; numbers within their tables
//   buffers             ranks agree; read after they are written or declared undefined; written by
//                       Regions that do not read the same memory, or only element by element
//                       (runtime/execute/in_place.h), as a whole before in parts, if this Plan
//                       allocated them, or a call made them new, and no host function has seen
//                       them that may keep them, and by one that writes all of them; not used once
//                       freed, nor are their views
//   regions             arity, element types and ranks of the Kernel
//   objects             are passed on, made, matched and freed, nothing else; fields and cases are
//                       those of the data type
//   functions           are Plans that keep these rules and give what their signatures say; any
//   Plan
//                       within may invoke them, if it names what they call
//   bodies              are Plans that keep these rules, each looked at once, however many
//                       instructions run it; of the arguments and results that the instruction
//                       says; a loop's body may write to what it carries, and leave
//   lifetime            temporaries neither leave the Plan nor reach the host, and constants only
//                       where the memory is the host's
#include <algorithm>
#include <iterator>

#include "core/error.h"
#include "core/ops/elementwise.h"
#include "runtime/execute/in_place.h"
#include "runtime/plan/plan.h"

namespace dvm::runtime {

namespace {

struct Buffer {
  enum class Origin : uint8_t { host, inner, view };  // host: arguments, arrays, results
  core::DType dtype;
  int rank;
  int data = -1;  // of an object: its data type
  Origin origin = Origin::host;
  bool owned = false;   // this Plan must free it, or the end of the call does
  bool ours = false;    // roots: made here, and nobody else may have it
  bool written = true;  // holds values
  bool freed = false;   // roots only
  int32_t root = -1;    // the buffer whose memory it is; itself unless a view
  bool all = true;      // new memory, or a reshape of all of it
  bool covers = true;   // the same, or with its axes in another order
};

// What the instructions that run a body have to know of it.
struct Gives {
  std::vector<Argument> results;
  std::vector<std::vector<Argument>> leaves;  // of each `leave`
};

class PlanVerifier {
 public:
  // `around`: of the Plan that has this one as a body or function.
  explicit PlanVerifier(const Plan& plan)
      : plan_(plan), root_(plan), around_(nullptr), is_function_(false) {}
  PlanVerifier(const Plan& plan, const PlanVerifier& around, bool is_function)
      : plan_(plan), root_(around.root_), around_(&around.plan_), is_function_(is_function) {}

  Gives run() {
    if (around_ == nullptr) {
      check_types();
      check_signatures();
    } else {
      require(plan_.types.empty() && plan_.signatures.empty() && plan_.functions.empty(),
              "data types and functions are those of the whole Plan");
    }
    for (const Plan& body : plan_.bodies) {
      bodies_.push_back(PlanVerifier(body, *this, false).run());
    }
    for (size_t k = 0; k < plan_.functions.size(); ++k) {
      const Gives gives = PlanVerifier(plan_.functions[k], *this, true).run();
      require(gives.results == plan_.signatures[k].gives && gives.leaves.empty(),
              "a function gives something else than its signature says");
    }
    check_declarations();
    require(plan_.notes.size() == plan_.code.size(), "notes and instructions differ in number");
    require(!plan_.code.empty() && plan_.code.back().op == PlanOp::ret, "the last is not ret");
    for (at_ = 0; at_ < plan_.code.size(); ++at_) check_instruction(plan_.code[at_]);
    at_ = plan_.code.size() - 1;
    require(used_ == plan_.pool.size(), "operands are left over in the pool");
    require(sizes_ == plan_.sizes && static_cast<int>(buffers_.size()) == plan_.buffers,
            "the register counts differ from the registers defined");
    gives_.results = types_of(operands_[0].words);
    return std::move(gives_);
  }

 private:
  void require(bool condition, const char* rule) const {
    if (condition) [[likely]]
      return;
    std::string where = "Plan";
    if (at_ < plan_.code.size()) {
      where = "instruction " + std::to_string(at_);
      const auto op = static_cast<size_t>(plan_.code[at_].op);
      if (op < all_plan_ops().size()) where += " (" + std::string(all_plan_ops()[op].name) + ")";
    }
    core::fail(core::ErrorCode::plan_invalid, where + ": " + rule);
  }

  void check_types() const {
    for (const core::DataType& type : plan_.types) {
      require(!type.is_function, "functions are no values in a Plan");
      for (const core::Constructor& constructor : type.constructors) {
        require(constructor.kinds.size() == constructor.fields.size() &&
                    constructor.kinds.size() <= core::kMaxResults,
                "fields are too many, or lack a name");
        check_kinds(fields_of(constructor));
      }
    }
  }
  void check_signatures() const {
    require(plan_.signatures.size() == plan_.functions.size(),
            "functions and signatures differ in number");
    for (const PlanSignature& signature : plan_.signatures) {
      require(signature.gives.size() <= core::kMaxResults, "a function gives too much");
      check_kinds(signature.gives);
    }
  }
  void check_kinds(std::span<const Argument> kinds) const {
    for (const Argument& kind : kinds) {
      if (kind.data >= 0) {
        require(static_cast<size_t>(kind.data) < root_.types.size() && kind.rank == kObjectRank,
                "no such data type");
      } else {
        require(kind.data == -1 && static_cast<int>(kind.dtype) < core::kDTypeCount &&
                    kind.rank >= 0 && kind.rank <= core::kMaxRank,
                "no such element type, or a rank beyond the limit");
      }
    }
  }
  std::vector<Argument> fields_of(const core::Constructor& constructor) const {
    std::vector<Argument> kinds;
    for (const core::ValueKind& kind : constructor.kinds) {
      kinds.push_back(argument_of(kind, root_.types));
    }
    return kinds;
  }

  void check_declarations() {
    check_kinds(plan_.inputs);
    for (const Argument& input : plan_.inputs) {
      require(!input.ours || (around_ != nullptr && !is_function_ && input.data < 0), kNoLoop);
      define({.dtype = input.dtype, .rank = input.rank, .data = input.data, .ours = input.ours});
    }
    if (around_ != nullptr) check_named();
    for (const PlanConstant& constant : plan_.constants) {
      const BufferView& view = constant.view;
      require(static_cast<int>(view.dtype) < core::kDTypeCount, "no such element type");
      require(view.rank >= 0 && view.rank <= core::kMaxRank, "a rank beyond the limit");
      require(constant.is_host() || constant.values, "a constant without elements");
      require(!constant.values || constant.is_host() == (view.owner != nullptr),
              "a constant with a name is the host's, and no other");
      define({.dtype = view.dtype,
              .rank = view.rank,
              .origin = constant.is_host() ? Buffer::Origin::host : Buffer::Origin::inner});
    }
    for (core::DType dtype : plan_.scalars) {
      require(static_cast<int>(dtype) < core::kDTypeCount, "no such element type");
    }
    for (size_t k = 0; k < plan_.regions.size(); ++k) {
      const core::Region& region = plan_.regions[k].region;
      const vm::Kernel& kernel = plan_.regions[k].kernel;
      require(region.name == "r" + std::to_string(k), "a region is not named by its index");
      int inputs = 0, scalars = 0;
      for (const core::Node& node : region.body.nodes()) {
        inputs += node.op == core::Op::input;
        scalars += node.op == core::Op::scalar;
      }
      require(kernel.input_count == inputs && kernel.scalar_count == scalars &&
                  kernel.output_count == static_cast<int>(region.body.outputs.size()),
              "a Kernel differs from its Region");
    }
  }

  // What the host knows by name, it knows of the Plan that has the body.
  void check_named() const {
    for (const std::string& callee : plan_.callees) {
      require(std::ranges::find(around_->callees, callee) != around_->callees.end(),
              "a body calls what its Plan does not name");
    }
    for (const PlanConstant& constant : plan_.constants) {
      require(!constant.is_host(), "a body has a constant of the host's");
    }
  }

  void define(Buffer buffer) {
    if (buffer.root < 0) buffer.root = static_cast<int32_t>(buffers_.size());
    buffers_.push_back(buffer);
  }

  void check_instruction(const Instruction& instruction) {
    require(static_cast<size_t>(instruction.op) < all_plan_ops().size(), "no such instruction");
    require(instruction.operands == used_, "operands are not packed in order");
    operands_ = operands_of(plan_, instruction);
    const std::string& note = plan_.notes[at_];
    require(note.find('\n') == std::string::npos && !note.starts_with(' ') && !note.ends_with(' '),
            "a note is not one trimmed line");
    for (const Operand& operand : operands_) {
      used_ = static_cast<size_t>(operand.words.data() + operand.words.size() - plan_.pool.data());
      check_operand(operand);
    }
    check_rules(instruction.op);
    check_result(instruction);
  }

  void check_operand(const Operand& operand) const {
    int64_t limit = 0;
    switch (operand.kind) {
      case 'i':
      case 'I':
        limit = sizes_;
        break;
      case 'b':
      case 'B':
        limit = static_cast<int64_t>(buffers_.size());
        break;
      case 's':
      case 'S':
        limit = static_cast<int64_t>(plan_.scalars.size());
        break;
      case 'k':
      case 'K':
        limit = core::kMaxRank + 1;
        break;
      case 'n':
      case 'N':
        limit = core::kMaxResults + 1;
        break;
      case 'c':
        limit = static_cast<int64_t>(core::DimCmp::ge) + 1;
        break;
      case 'o':
        limit = static_cast<int64_t>(core::all_ops().size());
        break;
      case 'd':
      case 'D':
        limit = core::kDTypeCount;
        break;
      case 'r':
        limit = static_cast<int64_t>(plan_.regions.size());
        break;
      case 'f':
        limit = static_cast<int64_t>(plan_.callees.size());
        break;
      case 'p':
      case 'P':
        limit = static_cast<int64_t>(plan_.bodies.size());
        break;
      case 'g':
        limit = static_cast<int64_t>(root_.functions.size());
        break;
      case 't':
        limit = static_cast<int64_t>(root_.types.size());
        break;
      case 'T':
        require(operand.words.size() <= core::kMaxResults, "too many results");
        for (const int32_t kind : operand.words) check_kinds(std::vector{kind_in(kind)});
        return;
      default:
        return;
    }
    for (int32_t word : operand.words) {
      require(word >= 0 && word < limit, "an operand that is not defined here");
    }
    if (operand.kind == 'b' || operand.kind == 'B') {
      for (int32_t b : operand.words) {
        require(!root(b).freed, "a buffer is used after it was freed");
        require(buffer(b).data < 0 || takes_objects(plan_.code[at_].op), "an object is no array");
      }
    }
  }
  static bool takes_objects(PlanOp op) {
    switch (op) {
      case PlanOp::loop:
      case PlanOp::branch:
      case PlanOp::match:
      case PlanOp::invoke:
      case PlanOp::construct:
      case PlanOp::leave:
      case PlanOp::free:
      case PlanOp::ret:
        return true;
      default:
        return false;
    }
  }

  int32_t word(size_t operand) const { return operands_[operand].words[0]; }
  size_t count(size_t operand) const { return operands_[operand].words.size(); }
  const Buffer& buffer(int32_t b) const { return buffers_[static_cast<size_t>(b)]; }
  Buffer& root(int32_t b) { return buffers_[static_cast<size_t>(buffer(b).root)]; }
  const Buffer& root(int32_t b) const { return buffers_[static_cast<size_t>(buffer(b).root)]; }

  void require_written(int32_t b) const {
    require(root(b).written, "a buffer is read before it is written");
  }
  void require_host(int32_t b) const {
    require(root(b).origin == Buffer::Origin::host, "a temporary leaves the Plan");
  }

  void check_rules(PlanOp op) {
    switch (op) {
      case PlanOp::size:
        require(word(1) < buffer(word(0)).rank, "no such axis");
        break;
      case PlanOp::number:
        require(plan_.scalars[static_cast<size_t>(word(0))] == core::DType::i64,
                "a number that is no i64");
        break;
      case PlanOp::alloc:
      case PlanOp::host_alloc:
        require(count(1) <= core::kMaxRank, "a rank beyond the limit");
        break;
      case PlanOp::transpose:
        check_permutation();
        break;
      case PlanOp::reshape:
      case PlanOp::reshaped:
        require(count(1) <= core::kMaxRank, "a rank beyond the limit");
        break;
      case PlanOp::slice:
        for (size_t list = 1; list <= 3; ++list) {
          require(static_cast<int>(count(list)) == buffer(word(0)).rank,
                  "starts, steps or sizes differ from the rank");
        }
        break;
      case PlanOp::run:
        check_run();
        break;
      case PlanOp::whole:
        check_whole();
        break;
      case PlanOp::fold:
        check_fold();
        break;
      case PlanOp::call:
      case PlanOp::call_fresh:
        check_call(op);
        break;
      case PlanOp::call_into:
        check_call_into();
        break;
      case PlanOp::read:
        require_number(word(0), core::DType::i64);
        break;
      case PlanOp::store:
        require(root(word(0)).ours && buffer(word(0)).all && buffer(word(0)).rank == 0,
                "no buffer of rank 0 that the Plan allocated");
        root(word(0)).written = true;
        break;
      case PlanOp::loop:
        check_loop();
        break;
      case PlanOp::branch:
        check_branch();
        break;
      case PlanOp::match:
        check_match();
        break;
      case PlanOp::invoke:
        check_invoke();
        break;
      case PlanOp::construct:
        check_construct();
        break;
      case PlanOp::leave:
        require_number(word(0), core::DType::boolean);
        require(around_ != nullptr && !is_function_, kNoLeave);
        give_up(operands_[1].words);
        gives_.leaves.push_back(types_of(operands_[1].words));
        break;
      case PlanOp::undefined:
        require(root(word(0)).ours, "only what the Plan allocated is undefined");
        root(word(0)).written = true;
        break;
      case PlanOp::free:
        require(buffer(word(0)).owned, "only buffers the Plan allocated or was given are freed");
        root(word(0)).freed = true;
        break;
      case PlanOp::ret:
        require(at_ + 1 == plan_.code.size(), "ret is not the last");
        give_up(operands_[0].words);
        break;
      default:
        break;
    }
  }

  // What the host gets.
  void give_up(std::span<const int32_t> buffers) const {
    for (int32_t b : buffers) {
      require_written(b);
      require_host(b);
    }
  }

  std::vector<Argument> types_of(std::span<const int32_t> buffers) const {
    std::vector<Argument> types;
    for (int32_t b : buffers) {
      types.push_back({.dtype = buffer(b).dtype, .rank = buffer(b).rank, .data = buffer(b).data});
    }
    return types;
  }

  void require_number(int32_t b, core::DType dtype) const {
    require(buffer(b).dtype == dtype && buffer(b).rank == 0 && buffer(b).data < 0,
            "no number of that type");
    require_written(b);
  }

  // The results that the instruction declares, by its last operands.
  std::vector<Argument> declared() const {
    std::vector<Argument> results;
    if (operands_.back().kind == 'T') {
      for (const int32_t word : operands_.back().words) results.push_back(kind_in(word));
      return results;
    }
    const auto ranks = operands_.back().words, types = operands_[operands_.size() - 2].words;
    require(types.size() == ranks.size(), "element types and ranks differ in number");
    for (size_t k = 0; k < types.size(); ++k) {
      results.push_back({.dtype = static_cast<core::DType>(types[k]), .rank = ranks[k]});
    }
    return results;
  }

  void check_loop() {
    const auto given = operands_[3].words, places = operands_[4].words;
    const Plan& body = plan_.bodies[static_cast<size_t>(word(0))];
    give_to_host(given);
    require(count(1) <= 1, "two numbers of trips");
    require(static_cast<size_t>(word(2)) <= given.size(), "carries more than it is given");
    std::vector<Argument> arrays, carried = types_of(given.first(static_cast<size_t>(word(2))));
    std::vector<core::DType> numbers{core::DType::i64};
    size_t carried_arrays = 0;
    for (size_t k = 0, next = 0; k < given.size(); ++k) {
      const Argument type = types_of(given.subspan(k, 1))[0];
      if (next == places.size() || places[next] != static_cast<int32_t>(k)) {
        arrays.push_back(type);
        carried_arrays += k < carried.size() ? 1 : 0;
        continue;
      }
      require(type.rank == 0 && type.data < 0, "an array that is given as a number");
      numbers.push_back(type.dtype);
      ++next;
    }
    require(numbers.size() == 1 + places.size(), "places of numbers are not in order");
    numbers.resize(numbers.size() + count(5), core::DType::i64);
    require_arguments(body, arrays, numbers);
    for (size_t k = carried_arrays; k < body.inputs.size(); ++k) {
      require(!body.inputs[k].ours, "a body writes what its loop does not carry");
    }
    const Gives& gives = bodies_[static_cast<size_t>(word(0))];
    require(gives.results == carried, "what a body gives is not what its loop carries");
    for (const std::vector<Argument>& leaves : gives.leaves) {
      require(leaves == carried, "what leaves is not what the loop carries");
    }
    carried.insert(carried.begin(), {core::DType::i64, 0});
    require(declared() == carried, "results are not what the loop carries");
  }

  void check_branch() {
    give_to_host(operands_[3].words);
    require_number(word(2), core::DType::boolean);
    for (size_t which = 0; which < 2; ++which) {
      check_body(word(which), types_of(operands_[3].words), count(4));
    }
  }

  // One that runs once: arrays and objects that it is given, then so many sizes.
  void check_body(int32_t which, const std::vector<Argument>& given, size_t sizes) const {
    const Plan& body = plan_.bodies[static_cast<size_t>(which)];
    const Gives& gives = bodies_[static_cast<size_t>(which)];
    require(std::ranges::none_of(body.inputs, &Argument::ours), kNoLoop);
    require(gives.leaves.empty(), kNoLeave);
    require_arguments(body, given, std::vector(sizes, core::DType::i64));
    require(gives.results == declared(), "results are not what a body gives");
  }

  void check_match() {
    give_to_host(operands_[3].words);
    require(buffer(word(0)).data == word(1), "an object of another data type");
    const core::DataType& type = root_.types[static_cast<size_t>(word(1))];
    require(count(2) == type.constructors.size(), "not a body for each constructor");
    for (size_t k = 0; k < count(2); ++k) {
      std::vector<Argument> given = fields_of(type.constructors[k]);
      std::ranges::copy(types_of(operands_[3].words), std::back_inserter(given));
      check_body(operands_[2].words[k], given, count(4));
    }
  }

  void check_invoke() {
    give_to_host(operands_[1].words);
    const auto which = static_cast<size_t>(word(0));
    const Plan& function = root_.functions[which];
    require_arguments(function, types_of(operands_[1].words),
                      std::vector(count(2), core::DType::i64));
    require(root_.signatures[which].gives == declared(), "results are not what the function gives");
    for (const std::string& callee : function.callees) {
      require(std::ranges::find(plan_.callees, callee) != plan_.callees.end(),
              "a function calls what this Plan does not name");
    }
  }

  void check_construct() {
    give_to_host(operands_[2].words);
    const core::DataType& type = root_.types[static_cast<size_t>(word(0))];
    require(static_cast<size_t>(word(1)) < type.constructors.size(), "no such constructor");
    require(
        types_of(operands_[2].words) == fields_of(type.constructors[static_cast<size_t>(word(1))]),
        "fields are not those of the constructor");
  }

  void require_arguments(const Plan& body, const std::vector<Argument>& arrays,
                         const std::vector<core::DType>& numbers) const {
    const auto same = [](const Argument& a, const Argument& b) {
      return a.dtype == b.dtype && a.rank == b.rank && a.data == b.data;
    };
    require(std::ranges::equal(arrays, body.inputs, same) && numbers == body.scalars,
            "arguments are not what a body takes");
  }

  // What the host has seen it may keep, and write to.
  void give_to_host(std::span<const int32_t> buffers) {
    give_up(buffers);
    for (int32_t b : buffers) root(b).ours = false;
  }

  void check_call(PlanOp op) {
    if (op == PlanOp::call_fresh) {
      give_up(operands_[1].words);
    } else {
      give_to_host(operands_[1].words);
    }
    const auto places = operands_[5].words, ranks = operands_[7].words;
    require(!places.empty() && places.size() == count(6) && places.size() == count(7),
            "places, element types and ranks differ in number");
    for (size_t k = 0; k < places.size(); ++k) {
      require(places[k] < word(4) && (k == 0 || places[k] > places[k - 1]),
              "places of results are not in order");
      require(ranks[k] <= core::kMaxRank, "a rank beyond the limit");
    }
  }

  void check_call_into() {
    give_to_host(operands_[1].words);
    for (int32_t b : operands_[4].words) {
      require_host(b);
      require(root(b).ours && buffer(b).all,
              "a host function writes a buffer that is not the Plan's");
      root(b).written = true;
      root(b).ours = false;
    }
  }

  void check_permutation() const {
    std::vector<int32_t> axes(operands_[1].words.begin(), operands_[1].words.end());
    std::sort(axes.begin(), axes.end());
    bool permutation = static_cast<int>(axes.size()) == buffer(word(0)).rank;
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      permutation = permutation && axes[axis] == static_cast<int32_t>(axis);
    }
    require(permutation, "the axes are no permutation");
  }

  void check_run() {
    const core::Region& region = plan_.regions[static_cast<size_t>(word(0))].region;
    const vm::Kernel& kernel = plan_.regions[static_cast<size_t>(word(0))].kernel;
    const auto inputs = operands_[1].words, outputs = operands_[2].words;
    const auto scalars = operands_[4].words;
    require(static_cast<int>(inputs.size()) == kernel.input_count &&
                static_cast<int>(outputs.size()) == kernel.output_count &&
                count(3) == kernel.dims.size() &&
                static_cast<int>(scalars.size()) == kernel.scalar_count,
            "the operands differ from the Region's arguments in number");
    size_t next_input = 0, next_scalar = 0;
    for (const core::Node& node : region.body.nodes()) {
      if (node.op == core::Op::input) {
        const int32_t b = inputs[next_input++];
        require_type(b, node.type);
        require_written(b);
      } else if (node.op == core::Op::scalar) {
        const auto s = static_cast<size_t>(scalars[next_scalar++]);
        require(plan_.scalars[s] == node.type.dtype, "a scalar of another element type");
      }
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      Buffer& memory = root(outputs[k]);
      require_type(outputs[k], region.body.type(region.body.outputs[k]));
      require(memory.ours, "a Region writes a buffer that is not the Plan's");
      require(memory.written || buffer(outputs[k]).covers, "a part is written before the whole");
      for (size_t input = 0; input < inputs.size(); ++input) {
        if (&root(inputs[input]) != &memory) continue;
        require(inputs[input] == outputs[k] && may_write_over(region.body, input),
                "a Region writes what it reads");
      }
      for (size_t other = 0; other < k; ++other) {
        require(&root(outputs[other]) != &memory, "a Region writes the same memory twice");
      }
    }
    for (int32_t b : outputs) root(b).written = true;
  }

  // An op that reads these buffers and writes all of that one, or some elements of what it holds.
  void check_whole_op(core::Op op, std::span<const int32_t> operands, int32_t result) {
    const bool replaces = core::replaces_elements(op);
    require(static_cast<int>(operands.size()) == core::info(op).arity - (replaces ? 1 : 0),
            "operands differ from the op's in number");
    if (replaces) require_written(result);
    for (int32_t b : operands) {
      require_written(b);
      require(&root(b) != &root(result), "an op writes what it reads");
    }
    require(root(result).ours && buffer(result).all,
            "an op writes a buffer that is not the Plan's");
    root(result).written = true;
  }

  void check_fold() {
    using core::Op;
    const auto op = static_cast<Op>(word(0)), with = static_cast<Op>(word(1));
    const auto operands = operands_[2].words;
    const Buffer& result = buffer(word(3));
    require(core::op_class(op) == core::OpClass::whole && core::info(op).attrs & core::attr::with,
            "no scan or fold");
    require(core::combines(with, result.dtype), "an op that makes no element of two");
    check_whole_op(op, operands, word(3));
    if (core::replaces_elements(op)) return check_replaced(op, operands, result, word(4));
    bool fits = word(4) < result.rank;
    for (size_t k = 0; k < operands.size(); ++k) {
      const Buffer& operand = buffer(operands[k]);
      const bool places = op == Op::fold_at && k == 1;
      const core::DType dtype = places   ? core::DType::i64
                                : k == 2 ? core::DType::boolean
                                         : result.dtype;
      fits = fits && operand.rank == (places ? 1 : result.rank) && operand.dtype == dtype;
    }
    require(fits, "a buffer of another element type or rank");
  }

  // Indices, and elements that go where they say.
  void check_replaced(core::Op op, std::span<const int32_t> operands, const Buffer& result,
                      int axis) const {
    const Buffer &indices = buffer(operands[0]), &elements = buffer(operands[1]);
    const int rank = op == core::Op::scatter ? result.rank - 1 + indices.rank : result.rank;
    const bool each = op == core::Op::scatter || indices.rank == result.rank;
    require(axis < result.rank && indices.dtype == core::DType::i64 && each &&
                elements.rank == rank && elements.dtype == result.dtype,
            "a buffer of another element type or rank");
  }

  // What the Graph's rules say of dtypes and ranks; sizes are checked as it runs.
  void check_whole() {
    using core::Op;
    const auto op = static_cast<Op>(word(0));
    const auto operands = operands_[1].words;
    const Buffer& result = buffer(word(2));
    require(core::op_class(op) == core::OpClass::whole && op != Op::empty && op != Op::update &&
                (core::optional_attrs(op) & core::attr::with ||
                 !(core::info(op).attrs & core::attr::with)),
            "no op of class whole that computes");
    check_whole_op(op, operands, word(2));
    if (core::replaces_elements(op)) return check_replaced(op, operands, result, word(3));
    bool fits = result.rank == 1 && result.dtype != core::DType::boolean && word(3) == 0;
    const auto is_mask = [&](const Buffer& b) {
      return b.rank == 1 && b.dtype == core::DType::boolean;
    };
    if (op == Op::nonzero) {
      fits = fits && result.dtype == core::DType::i64 && is_mask(buffer(operands[0]));
    } else if (op == Op::compress) {
      const Buffer& a = buffer(operands[0]);
      fits = is_mask(buffer(operands[1])) && result.rank == a.rank && result.dtype == a.dtype &&
             word(3) < a.rank;
    } else if (op != Op::iota) {
      const Buffer& a = buffer(operands[0]);
      const Buffer& indices = buffer(operands.back());
      const bool arg = op == Op::argmax || op == Op::argmin;
      const int rank = op == Op::gather ? a.rank - 1 + indices.rank : a.rank;
      fits = word(3) < a.rank && result.rank == rank &&
             result.dtype == (arg ? core::DType::i64 : a.dtype);
      if (operands.size() == 2) fits = fits && indices.dtype == core::DType::i64;
      if (op == Op::take_along) fits = fits && indices.rank == a.rank;
    }
    require(fits, "a buffer of another element type or rank");
  }

  void require_type(int32_t b, const core::Type& type) const {
    require(buffer(b).dtype == type.dtype && buffer(b).rank == type.rank(),
            "a buffer of another element type or rank");
  }

  void check_result(const Instruction& instruction) {
    using Origin = Buffer::Origin;
    switch (info(instruction.op).result) {
      case File::i:
        require(instruction.result == sizes_++, "registers are not defined in order");
        return;
      case File::b:
      case File::bs:
        require(instruction.result == static_cast<int32_t>(buffers_.size()),
                "registers are not defined in order");
        break;
      default:
        require(instruction.result == -1, "a result where there is none");
        return;
    }
    if (info(instruction.op).result == File::bs) {
      for (const Argument& type : declared()) {
        require(type.rank <= core::kMaxRank, "a rank beyond the limit");
        define({.dtype = type.dtype,
                .rank = type.rank,
                .data = type.data,
                .owned = true,
                .ours = instruction.op == PlanOp::call_fresh});
      }
    } else if (instruction.op == PlanOp::alloc || instruction.op == PlanOp::host_alloc) {
      define({.dtype = static_cast<core::DType>(word(0)),
              .rank = static_cast<int>(count(1)),
              .origin = instruction.op == PlanOp::alloc ? Origin::inner : Origin::host,
              .owned = true,
              .ours = true,
              .written = false});
    } else if (instruction.op == PlanOp::construct) {
      define({.dtype = core::DType::boolean, .rank = kObjectRank, .data = word(0), .owned = true});
    } else {
      const bool is_reshape =
          instruction.op == PlanOp::reshape || instruction.op == PlanOp::reshaped;
      const bool all = is_reshape && buffer(word(0)).all;
      define({.dtype = buffer(word(0)).dtype,
              .rank = static_cast<int>(count(1)),
              .origin = Origin::view,
              .root = buffer(word(0)).root,
              .all = all,
              .covers =
                  buffer(word(0)).covers && (is_reshape || instruction.op == PlanOp::transpose)});
    }
  }

  static constexpr const char* kNoLoop = "only a loop's body has arguments of its own";
  static constexpr const char* kNoLeave = "a leave that is in no loop's body";

  const Plan& plan_;
  const Plan& root_;
  const Plan* const around_;  // of a body or function: the Plan that has it
  const bool is_function_;
  std::vector<Gives> bodies_;  // of each
  Gives gives_;
  std::vector<Buffer> buffers_;
  std::vector<Operand> operands_;  // of the instruction at at_
  size_t at_ = SIZE_MAX, used_ = 0;
  int sizes_ = 0;
};

}  // namespace

void verify(const Plan& plan) { PlanVerifier(plan).run(); }

}  // namespace dvm::runtime

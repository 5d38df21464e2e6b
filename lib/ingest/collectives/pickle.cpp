#include "ingest/collectives/pickle.hpp"

#include <bit>
#include <charconv>

#include <fmt/format.h>

#include "model/number.hpp"

namespace culprit::ingest {

namespace {

enum Op : unsigned char {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kFloat = 'F',
  kInt = 'I',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kLong = 'L',
  kBinInt2 = 'M',
  kNone = 'N',
  kString = 'S',
  kBinString = 'T',
  kShortBinString = 'U',
  kUnicode = 'V',
  kBinUnicode = 'X',
  kAppend = 'a',
  kDict = 'd',
  kEmptyDict = '}',
  kAppends = 'e',
  kGet = 'g',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
  kEmptyList = ']',
  kPut = 'p',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kBinFloat = 'G',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
};

// What would run code, or ask somebody else for an object.
std::string_view refused(unsigned char op) {
  switch (op) {
    case 'c': return "GLOBAL";
    case 'R': return "REDUCE";
    case 'b': return "BUILD";
    case 'i': return "INST";
    case 'o': return "OBJ";
    case 'P': return "PERSID";
    case 'Q': return "BINPERSID";
    case 0x81: return "NEWOBJ";
    case 0x82: return "EXT1";
    case 0x83: return "EXT2";
    case 0x84: return "EXT4";
    case 0x92: return "NEWOBJ_EX";
    case 0x93: return "STACK_GLOBAL";
    case 0x97: return "NEXT_BUFFER";
    case 0x98: return "READONLY_BUFFER";
    default: return {};
  }
}

template <class Number>
Number little(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  Number n;
  std::memcpy(&n, at, sizeof n);
  return n;
}

class PickleReader {
 public:
  PickleReader(std::string_view bytes, Tree& tree, const TreeLimits& limits)
      : begin_(bytes.data()),
        at_(begin_),
        end_(begin_ + bytes.size()),
        tree_(tree),
        limits_(limits) {
    tree_.values.reserve(std::min<std::size_t>(bytes.size() / 2, 1 << 18));
    tree_.nodes.reserve(std::min<std::size_t>(bytes.size() / 16, 1 << 15) + 16);
    stack_.reserve(256);
    memo_.reserve(256);
  }

  void run() {
    while (going_) {
      if (at_ == end_) {
        fail("truncated", at_);
        break;
      }
      opcode_ = at_;
      step(static_cast<unsigned char>(*at_++));
    }
    if (!refused_.empty()) {
      tree_ = Tree{};
      tree_.problem = fmt::format("pickle.refused_{} at {}", refused_, opcode_ - begin_);
      tree_.problem_at = static_cast<std::size_t>(opcode_ - begin_);
      return;
    }
    if (problem_ != nullptr) {
      tree_.truncated = true;
      tree_.problem_at = static_cast<std::size_t>(problem_at_ - begin_);
      tree_.problem = fmt::format("pickle.{} at {}", problem_, tree_.problem_at);
      unwind();
    }
    if (!stack_.empty()) tree_.root = stack_[0];
  }

 private:
  void fail(const char* problem, const char* where) {
    if (problem_ == nullptr) {
      problem_ = problem;
      problem_at_ = where;
    }
    going_ = false;
  }

  bool need(std::uint64_t bytes) {
    if (bytes <= static_cast<std::uint64_t>(end_ - at_)) return true;
    fail("truncated", opcode_);
    return false;
  }

  void push(const Value& v) {
    if (stack_.size() >= limits_.stack) return fail("too_many_values", opcode_);
    stack_.push(v);
  }

  void text(std::uint64_t length) {
    if (!need(length)) return;
    push(Value::string(at_, length));
    at_ += length;
  }

  template <class Number>
  void sized_text() {
    if (!need(sizeof(Number))) return;
    const auto length = little<Number>(at_);
    at_ += sizeof(Number);
    text(length);
  }

  bool line(std::string_view& out) {
    const void* newline = std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
    if (newline == nullptr) {
      fail("truncated", opcode_);
      return false;
    }
    out = std::string_view(at_, static_cast<std::size_t>(static_cast<const char*>(newline) - at_));
    at_ += out.size() + 1;
    if (out.ends_with('\r')) out.remove_suffix(1);
    return true;
  }

  void long_number(std::uint64_t length) {
    if (!need(length)) return;
    if (length > 8)
      push(Value::nothing());  // no count, no time, no sequence is that large
    else {
      std::uint64_t n = 0;
      for (std::uint64_t i = 0; i < length; ++i)
        n |= static_cast<std::uint64_t>(static_cast<unsigned char>(at_[i])) << (8 * i);
      if (length > 0 && length < 8 && (static_cast<unsigned char>(at_[length - 1]) & 0x80))
        n |= ~std::uint64_t{0} << (8 * length);
      push(Value::number(static_cast<std::int64_t>(n)));
    }
    at_ += length;
  }

  void put(std::uint64_t index) {
    if (floor() >= stack_.size()) return fail("stack", opcode_);
    // Picklers count one by one; an index far ahead would only cost memory.
    if (index > memo_.size() + 4096) return fail("memo_index", opcode_);
    while (memo_.size() <= index) memo_.push(Value::nothing());
    memo_[index] = stack_.back();
  }

  void get(std::uint64_t index) {
    if (index >= memo_.size()) return fail("memo_index", opcode_);
    push(memo_[index]);
  }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  bool pop_mark(std::size_t& mark) {
    if (marks_.empty()) {
      fail("no_mark", opcode_);
      return false;
    }
    mark = marks_.back();
    marks_.pop_back();
    return true;
  }

  void fill(const Value& container, const Value* from, std::size_t count) {
    if (tree_.values.size() + count > limits_.values || tree_.nodes.size() >= limits_.nodes)
      return fail("too_many_values", opcode_);
    tree_.extend(container.node, from, count);
    Tree::Node& node = tree_.nodes[container.node];
    node.length = static_cast<std::uint32_t>(static_cast<std::size_t>(at_ - begin_) - node.offset);
  }

  void fresh(Value::Kind kind, std::size_t begin) {
    if (tree_.nodes.size() >= limits_.nodes) return fail("too_many_values", opcode_);
    const Value v = Value::container(kind, tree_.open(static_cast<std::size_t>(opcode_ - begin_)));
    if (begin < stack_.size()) {
      fill(v, stack_.data() + begin, stack_.size() - begin);
      if (problem_ != nullptr) return;
      stack_.shrink(begin);
    }
    push(v);
  }

  // The values from `begin` on go into the container below them.
  void into(Value::Kind kind, std::size_t begin) {
    if (begin == 0 || begin - 1 < floor() || stack_[begin - 1].kind != kind)
      return fail("stack", opcode_);
    std::size_t count = stack_.size() - begin;
    if (kind == Value::Kind::dict && count % 2 != 0) return fail("stack", opcode_);
    fill(stack_[begin - 1], stack_.data() + begin, count);
    if (problem_ == nullptr) stack_.shrink(begin);
  }

  void last(Value::Kind kind, std::size_t count) {
    if (stack_.size() < floor() + count + 1) return fail("stack", opcode_);
    into(kind, stack_.size() - count);
  }

  void tuple(std::size_t count) {
    if (stack_.size() < floor() + count) return fail("stack", opcode_);
    fresh(Value::Kind::list, stack_.size() - count);
  }

  // The input is over while containers are open: each gets what was meant for it.
  void unwind() {
    while (!marks_.empty()) {
      const std::size_t mark = marks_.back();
      marks_.pop_back();
      std::size_t count = stack_.size() - mark;
      if (mark > 0 && (stack_[mark - 1].is_list() || stack_[mark - 1].is_dict())) {
        if (stack_[mark - 1].is_dict()) count -= count % 2;
        const std::uint32_t node = stack_[mark - 1].node;
        if (tree_.values.size() + count <= limits_.values + limits_.stack)
          tree_.extend(node, stack_.data() + mark, count);
        tree_.nodes[node].partial = true;
      }
      stack_.shrink(mark);
    }
  }

  // The number that stands at `at_`, of which there are enough bytes.
  template <class Number>
  Number taken() {
    at_ += sizeof(Number);
    return little<Number>(at_ - sizeof(Number));
  }

  template <class Index>
  void get_indexed() {
    if (need(sizeof(Index))) get(taken<Index>());
  }

  template <class Index>
  void put_indexed() {
    if (need(sizeof(Index))) put(taken<Index>());
  }

  template <class Number>
  void integer() {
    if (need(sizeof(Number))) push(Value::number(static_cast<std::int64_t>(taken<Number>())));
  }

  void long_of_short_length() {
    if (!need(1)) return;
    if (at_[0] == 8 && end_ - at_ >= 9) {
      push(Value::number(little<std::int64_t>(at_ + 1)));
      at_ += 9;
      return;
    }
    long_number(taken<std::uint8_t>());
  }

  void long_of_any_length() {
    if (!need(4)) return;
    const auto length = taken<std::int32_t>();
    length < 0 ? fail("length", opcode_) : long_number(static_cast<std::uint64_t>(length));
  }

  void big_endian_double() {
    if (!need(8)) return;
    push(Value::number(std::bit_cast<double>(__builtin_bswap64(taken<std::uint64_t>()))));
  }

  void mark() {
    if (marks_.size() >= limits_.depth) return fail("too_deep", opcode_);
    marks_.push_back(stack_.size());
  }

  // A new container of what came since the mark.
  void fresh_since_mark(Value::Kind kind) {
    std::size_t mark = 0;
    if (!pop_mark(mark)) return;
    if (kind == Value::Kind::dict && (stack_.size() - mark) % 2 != 0) return fail("stack", opcode_);
    fresh(kind, mark);
  }

  void into_since_mark(Value::Kind kind) {
    std::size_t mark = 0;
    if (pop_mark(mark)) into(kind, mark);
  }

  void pop() {
    if (stack_.size() > floor())
      stack_.shrink(stack_.size() - 1);
    else if (!marks_.empty())
      marks_.pop_back();
    else
      fail("stack", opcode_);
  }

  void drop_since_mark() {
    std::size_t mark = 0;
    if (pop_mark(mark)) stack_.shrink(mark);
  }

  void duplicate() {
    if (stack_.size() <= floor()) return fail("stack", opcode_);
    push(Value{stack_.back()});
  }

  void stop() {
    if (stack_.size() != 1 || !marks_.empty()) return fail("stack", opcode_);
    going_ = false;
  }

  void step(unsigned char op) {
    switch (op) {
      case kBinGet: return get_indexed<std::uint8_t>();
      case kLongBinGet: return get_indexed<std::uint32_t>();
      case kBinPut: return put_indexed<std::uint8_t>();
      case kLongBinPut: return put_indexed<std::uint32_t>();
      case kMemoize: return put(memo_.size());
      case kBinInt1: return integer<std::uint8_t>();
      case kBinInt2: return integer<std::uint16_t>();
      case kBinInt: return integer<std::int32_t>();
      case kLong1: return long_of_short_length();
      case kLong4: return long_of_any_length();
      case kBinFloat: return big_endian_double();
      case kNone: return push(Value::nothing());
      case kNewTrue: return push(Value::boolean(true));
      case kNewFalse: return push(Value::boolean(false));
      case kShortBinUnicode:
      case kShortBinString:
      case kShortBinBytes: return sized_text<std::uint8_t>();
      case kBinUnicode:
      case kBinString:
      case kBinBytes: return sized_text<std::uint32_t>();
      case kBinUnicode8:
      case kBinBytes8:
      case kByteArray8: return sized_text<std::uint64_t>();
      case kMark: return mark();
      case kEmptyDict: return fresh(Value::Kind::dict, stack_.size());
      case kEmptyList:
      case kEmptyTuple: return fresh(Value::Kind::list, stack_.size());
      case kTuple1: return tuple(1);
      case kTuple2: return tuple(2);
      case kTuple3: return tuple(3);
      case kTuple:
      case kList: return fresh_since_mark(Value::Kind::list);
      case kDict: return fresh_since_mark(Value::Kind::dict);
      case kAppends: return into_since_mark(Value::Kind::list);
      case kSetItems: return into_since_mark(Value::Kind::dict);
      case kAppend: return last(Value::Kind::list, 1);
      case kSetItem: return last(Value::Kind::dict, 2);
      case kStop: return stop();
      case kProto:
        if (need(1) && taken<std::uint8_t>() > 5) fail("protocol", opcode_);
        return;
      case kFrame:
        if (need(8)) at_ += 8;
        return;  // tells how much to read ahead, and all is here
      case kPop: return pop();
      case kPopMark: return drop_since_mark();
      case kDup: return duplicate();
      default: return in_words(op);
    }
  }

  // Protocol 0 writes numbers and texts as lines.
  void in_words(unsigned char op) {
    std::string_view word;
    switch (op) {
      case kInt:
      case kLong: {
        if (!line(word)) return;
        if (op == kInt && word == "01") return push(Value::boolean(true));
        if (op == kInt && word == "00") return push(Value::boolean(false));
        if (word.ends_with('L')) word.remove_suffix(1);
        std::int64_t n = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
        if (error == std::errc::result_out_of_range) return push(Value::nothing());
        return error == std::errc{} && end == word.data() + word.size() ? push(Value::number(n))
                                                                        : fail("number", opcode_);
      }
      case kFloat: {
        if (!line(word)) return;
        double n = 0;
        return parse_whole(word, n) ? push(Value::number(n)) : fail("number", opcode_);
      }
      case kString:
        if (!line(word)) return;
        if (word.size() >= 2 && (word.front() == '\'' || word.front() == '"') &&
            word.back() == word.front())
          word = word.substr(1, word.size() - 2);
        return push(Value::string(word.data(), word.size()));
      case kUnicode:
        if (line(word)) push(Value::string(word.data(), word.size()));
        return;
      case kGet:
      case kPut: {
        if (!line(word)) return;
        std::uint64_t n = 0;
        if (!parse_whole(word, n)) return fail("number", opcode_);
        return op == kGet ? get(n) : put(n);
      }
      default:
        refused_ = refused(op);
        if (refused_.empty()) fail("unknown_opcode", opcode_);
        going_ = false;
    }
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* opcode_ = nullptr;
  Tree& tree_;
  const TreeLimits& limits_;
  Values stack_, memo_;
  std::vector<std::size_t> marks_;
  bool going_ = true;
  const char* problem_ = nullptr;
  const char* problem_at_ = nullptr;
  std::string_view refused_;
};

}  // namespace

void read_pickle(std::string_view bytes, Tree& tree, const TreeLimits& limits) {
  PickleReader(bytes, tree, limits).run();
}

}  // namespace culprit::ingest

#include "ingest/engine/lenient_json.hpp"

#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "model/json_cursor.hpp"

namespace culprit::ingest {

namespace {

class LenientJsonReader {
 public:
  LenientJsonReader(std::string_view bytes, Tree& tree, const TreeLimits& limits)
      : in_(bytes), tree_(tree), limits_(limits) {
    tree_.values.reserve(std::min<std::size_t>(bytes.size() / 8, 1 << 16));
  }

  void run() {
    while (problem_ == nullptr && !done_) step();
    if (problem_ != nullptr) {
      tree_.truncated = true;
      tree_.problem_at = problem_at_;
      tree_.problem = fmt::format("json.{} at {}", problem_, tree_.problem_at);
      while (!open_.empty()) {
        tree_.nodes[open_.back().node].partial = true;
        close();
      }
    }
    if (!stack_.empty()) tree_.root = stack_[0];
  }

 private:
  struct Open {
    std::uint32_t node;
    bool dict;
    std::size_t mark;
  };

  void fail(const char* problem) {
    if (problem_ == nullptr) {
      problem_ = in_.done() ? "truncated" : problem;
      problem_at_ = in_.offset();
    }
  }

  void push(const Value& v) {
    if (stack_.size() >= limits_.stack) return fail("too_many_values");
    stack_.push(v);
  }

  void open(bool dict) {
    if (open_.size() >= limits_.depth) return fail("too_deep");
    if (tree_.nodes.size() >= limits_.nodes) return fail("too_many_values");
    const std::uint32_t node = tree_.open(in_.offset());
    push(Value::container(dict ? Value::Kind::dict : Value::Kind::list, node));
    open_.push_back({node, dict, stack_.size()});
    in_.next();
    expect_value_ = !in_.take(dict ? '}' : ']');
    if (!expect_value_) close();
  }

  void close() {
    const Open open = open_.back();
    open_.pop_back();
    std::size_t count = stack_.size() - open.mark;
    if (open.dict) count -= count % 2;
    if (tree_.values.size() + count > limits_.values)
      fail("too_many_values");
    else
      tree_.extend(open.node, stack_.data() + open.mark, count);
    stack_.shrink(open.mark);
    Tree::Node& node = tree_.nodes[open.node];
    node.length = static_cast<std::uint32_t>(in_.offset() - node.offset);
  }

  // A value is due, or what follows one.
  void step() {
    in_.blanks();
    if (in_.done()) return fail("truncated");
    if (!expect_value_) {
      if (open_.empty()) {
        done_ = true;
        return;
      }
      if (in_.peek() == ',') {
        in_.next();
        expect_value_ = true;
        return;
      }
      if (in_.peek() != (open_.back().dict ? '}' : ']')) return fail("syntax");
      in_.next();
      close();
      done_ = open_.empty();
      return;
    }
    if (!open_.empty() && open_.back().dict) {
      Value key;
      if (in_.peek() != '"') return fail("syntax");
      if (!text(key)) return;
      if (!in_.take(':')) return fail("syntax");
      push(key);
      in_.blanks();
      if (in_.done()) return fail("truncated");
    }
    value();
  }

  void value() {
    expect_value_ = false;
    switch (in_.peek()) {
      case '{': return open(true);
      case '[': return open(false);
      case '"': {
        Value v;
        if (text(v)) push(v);
        break;
      }
      case 't': word("true", Value::boolean(true)); break;
      case 'f': word("false", Value::boolean(false)); break;
      case 'n':
        if (in_.rest().substr(0, 2) == "na")
          word("nan", not_a_number());
        else
          word("null", Value::nothing());
        break;
      case 'N': word("NaN", not_a_number()); break;
      case 'I': word("Infinity", infinity(false)); break;
      case 'i': word("inf", infinity(false)); break;
      default: number();
    }
    if (open_.empty()) done_ = true;
  }

  static Value not_a_number() { return Value::number(std::numeric_limits<double>::quiet_NaN()); }
  static Value infinity(bool negative) {
    return Value::number(negative ? -std::numeric_limits<double>::infinity()
                                  : std::numeric_limits<double>::infinity());
  }

  void word(std::string_view want, const Value& v) {
    const std::string_view rest = in_.rest();
    if (!rest.starts_with(want)) {
      if (want.starts_with(rest)) in_.seek(in_.end());
      return fail("syntax");
    }
    in_.seek(in_.at() + want.size());
    push(v);
  }

  void number() {
    const char* const from = in_.at();
    const char* const end = in_.end();
    const char* p = from;
    const bool negative = *p == '-';
    p += negative;
    if (p < end && (*p == 'I' || *p == 'i' || *p == 'N' || *p == 'n')) {
      in_.seek(p);
      if (*p == 'I')
        word("Infinity", infinity(negative));
      else if (*p == 'i')
        word("inf", infinity(negative));
      else if (*p == 'N')
        word("NaN", not_a_number());
      else
        word("nan", not_a_number());
      return;
    }
    std::uint64_t n = 0;
    const char* digits = p;
    while (p < end && *p >= '0' && *p <= '9') n = n * 10 + static_cast<std::uint64_t>(*p++ - '0');
    if (p == digits) return fail("syntax");
    if (p == end) {
      in_.seek(p);
      return fail("truncated");
    }  // more digits may have followed
    if (*p != '.' && *p != 'e' && *p != 'E' && p - digits <= 18) {
      in_.seek(p);
      return push(
          Value::number(negative ? -static_cast<std::int64_t>(n) : static_cast<std::int64_t>(n)));
    }
    std::int64_t whole = 0;
    if (const auto [stop, error] = std::from_chars(from, end, whole);
        error == std::errc{} && stop < end && *stop != '.' && *stop != 'e' && *stop != 'E') {
      in_.seek(stop);
      return push(Value::number(whole));
    }
    double real = 0;
    const auto [stop, error] = std::from_chars(from, end, real);
    if (error == std::errc::invalid_argument) return fail("syntax");
    in_.seek(stop);
    if (in_.done()) return fail("truncated");
    push(error == std::errc{} ? Value::number(real) : Value::nothing());
  }

  bool text(Value& out) {
    std::string_view raw;
    bool escaped = false;
    if (!in_.text(raw, escaped)) {
      fail("truncated");
      return false;
    }
    if (escaped) raw = tree_.texts.emplace_back(json_unescaped(raw));
    out = Value::string(raw.data(), raw.size());
    return true;
  }

  JsonCursor in_;
  Tree& tree_;
  const TreeLimits& limits_;
  Values stack_;
  std::vector<Open> open_;
  bool expect_value_ = true;
  bool done_ = false;
  const char* problem_ = nullptr;
  std::size_t problem_at_ = 0;
};

}  // namespace

void read_lenient_json(std::string_view bytes, Tree& tree, const TreeLimits& limits) {
  LenientJsonReader(bytes, tree, limits).run();
}

}  // namespace culprit::ingest

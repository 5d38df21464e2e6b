#include "ingest/engine/lenient_json.hpp"

#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "model/utf8.hpp"

namespace culprit::ingest {

namespace {

class Reader {
 public:
  Reader(std::string_view bytes, Tree& tree, const TreeLimits& limits)
      : begin_(bytes.data()),
        at_(begin_),
        end_(begin_ + bytes.size()),
        tree_(tree),
        limits_(limits) {
    tree_.values.reserve(std::min<std::size_t>(bytes.size() / 8, 1 << 16));
    if (bytes.starts_with("\xEF\xBB\xBF")) at_ += 3;
  }

  void run() {
    while (problem_ == nullptr && !done_) step();
    if (problem_ != nullptr) {
      tree_.truncated = true;
      tree_.problem_at = static_cast<std::size_t>(problem_at_ - begin_);
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
      problem_ = at_ >= end_ ? "truncated" : problem;
      problem_at_ = at_;
    }
  }

  void blank() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  void push(const Value& v) {
    if (stack_.size() >= limits_.stack) return fail("too_many_values");
    stack_.push(v);
  }

  void open(bool dict) {
    if (open_.size() >= limits_.depth) return fail("too_deep");
    if (tree_.nodes.size() >= limits_.nodes) return fail("too_many_values");
    const std::uint32_t node = tree_.open(static_cast<std::size_t>(at_ - begin_));
    push(Value::container(dict ? Value::Kind::dict : Value::Kind::list, node));
    open_.push_back({node, dict, stack_.size()});
    ++at_;
    blank();
    if (at_ < end_ && *at_ == (dict ? '}' : ']')) {
      ++at_;
      close();
      expect_value_ = false;
    } else {
      expect_value_ = true;
    }
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
    node.length = static_cast<std::uint32_t>(static_cast<std::size_t>(at_ - begin_) - node.offset);
  }

  // A value is due, or what follows one.
  void step() {
    blank();
    if (at_ >= end_) return fail("truncated");
    if (!expect_value_) {
      if (open_.empty()) {
        done_ = true;
        return;
      }
      if (*at_ == ',') {
        ++at_;
        expect_value_ = true;
        return;
      }
      if (*at_ != (open_.back().dict ? '}' : ']')) return fail("syntax");
      ++at_;
      close();
      done_ = open_.empty();
      return;
    }
    if (!open_.empty() && open_.back().dict) {
      Value key;
      if (*at_ != '"') return fail("syntax");
      if (!text(key)) return;
      blank();
      if (at_ >= end_ || *at_ != ':') return fail("syntax");
      ++at_;
      push(key);
      blank();
      if (at_ >= end_) return fail("truncated");
    }
    value();
  }

  void value() {
    expect_value_ = false;
    switch (*at_) {
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
        if (end_ - at_ >= 2 && at_[1] == 'a')
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
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    if (!rest.starts_with(want)) {
      if (want.starts_with(rest)) at_ = end_;
      return fail("syntax");
    }
    at_ += want.size();
    push(v);
  }

  void number() {
    const char* from = at_;
    const char* p = at_;
    const bool negative = *p == '-';
    p += negative;
    if (p < end_ && (*p == 'I' || *p == 'i' || *p == 'N' || *p == 'n')) {
      at_ = p;
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
    while (p < end_ && *p >= '0' && *p <= '9') n = n * 10 + static_cast<std::uint64_t>(*p++ - '0');
    if (p == digits) return fail("syntax");
    if (p == end_) {
      at_ = p;
      return fail("truncated");
    }  // more digits may have followed
    if (*p != '.' && *p != 'e' && *p != 'E' && p - digits <= 18) {
      at_ = p;
      return push(
          Value::number(negative ? -static_cast<std::int64_t>(n) : static_cast<std::int64_t>(n)));
    }
    std::int64_t whole = 0;
    if (const auto [end, error] = std::from_chars(from, end_, whole);
        error == std::errc{} && end < end_ && *end != '.' && *end != 'e' && *end != 'E') {
      at_ = end;
      return push(Value::number(whole));
    }
    double real = 0;
    const auto [end, error] = std::from_chars(from, end_, real);
    if (error == std::errc::invalid_argument) return fail("syntax");
    at_ = end;
    if (at_ == end_) return fail("truncated");
    push(error == std::errc{} ? Value::number(real) : Value::nothing());
  }

  bool text(Value& out) {
    const char* from = ++at_;
    const char* p = from;
    while (p < end_ && *p != '"' && *p != '\\') ++p;
    if (p >= end_) {
      at_ = end_;
      fail("truncated");
      return false;
    }
    if (*p == '"') {
      out = Value::string(from, static_cast<std::size_t>(p - from));
      at_ = p + 1;
      return true;
    }
    std::string made(from, p);
    while (p < end_ && *p != '"') {
      if (*p != '\\') {
        made.push_back(*p++);
        continue;
      }
      if (++p >= end_) break;
      const char c = *p++;
      switch (c) {
        case 'n': made.push_back('\n'); break;
        case 't': made.push_back('\t'); break;
        case 'r': made.push_back('\r'); break;
        case 'b': made.push_back('\b'); break;
        case 'f': made.push_back('\f'); break;
        case 'u': escape(p, made); break;
        default: made.push_back(c);  // also "\'" and others that JSON does not know
      }
    }
    if (p >= end_) {
      at_ = end_;
      fail("truncated");
      return false;
    }
    at_ = p + 1;
    tree_.texts.push_back(std::move(made));
    out = Value::string(tree_.texts.back().data(), tree_.texts.back().size());
    return true;
  }

  bool hex(const char*& p, std::uint32_t& code) const {
    if (end_ - p < 4) return false;
    const auto [end, error] = std::from_chars(p, p + 4, code, 16);
    if (error != std::errc{} || end != p + 4) return false;
    p = end;
    return true;
  }

  void escape(const char*& p, std::string& made) const {
    std::uint32_t code = 0;
    if (!hex(p, code)) {
      made += "\\u";
      return;
    }
    if (code >= 0xD800 && code < 0xDC00 && end_ - p >= 6 && p[0] == '\\' && p[1] == 'u') {
      const char* low_at = p + 2;
      std::uint32_t low = 0;
      if (hex(low_at, low) && low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        p = low_at;
      }
    }
    append_utf8(made, code);
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  Tree& tree_;
  const TreeLimits& limits_;
  Values stack_;
  std::vector<Open> open_;
  bool expect_value_ = true;
  bool done_ = false;
  const char* problem_ = nullptr;
  const char* problem_at_ = nullptr;
};

}  // namespace

void read_lenient_json(std::string_view bytes, Tree& tree, const TreeLimits& limits) {
  Reader(bytes, tree, limits).run();
}

}  // namespace culprit::ingest

// The values of a dump that is read as a whole, pickle or JSON: an arena with indices. A container
// may hold itself (pickle can say so), so whoever walks a tree must know how deep it wants to go.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace culprit::ingest {

struct Value {
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    real,
    text,
    list,
    dict
  };  // tuples are lists
  Kind kind;
  std::uint32_t length;  // of the text
  union {
    std::int64_t integer;
    double real;
    const char* bytes;  // in the input, or in Tree::texts
    std::uint32_t node;
  };

  static Value nothing() { return make(Kind::none, 0); }
  static Value boolean(bool is) { return make(Kind::boolean, is); }
  static Value number(std::int64_t is) { return make(Kind::integer, is); }
  static Value number(double is) {
    Value v = make(Kind::real, 0);
    v.real = is;
    return v;
  }
  static Value string(const char* at, std::size_t length) {
    Value v = make(Kind::text, 0);
    v.bytes = at;
    v.length = static_cast<std::uint32_t>(length);
    return v;
  }
  static Value container(Kind kind, std::uint32_t node) {
    Value v = make(kind, 0);
    v.node = node;
    return v;
  }

  std::string_view text() const {
    return kind == Kind::text ? std::string_view(bytes, length) : std::string_view{};
  }
  bool is_list() const { return kind == Kind::list; }
  bool is_dict() const { return kind == Kind::dict; }

 private:
  static Value make(Kind kind, std::int64_t integer) {
    Value v;
    v.kind = kind;
    v.length = 0;
    v.integer = integer;
    return v;
  }
};
static_assert(sizeof(Value) == 16 && std::is_trivially_copyable_v<Value>);

// A vector of trivial values whose growth leaves the new ones unset and whose push is two
// instructions.
class Values {
 public:
  void push(const Value& v) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = v;
  }
  void append(const Value* from, std::size_t count) {
    if (size_ + count > capacity_) grow(size_ + count);
    if (count <= 4)
      for (std::size_t i = 0; i < count; ++i) data_[size_ + i] = from[i];  // most: a shape, a pair
    else
      std::memcpy(static_cast<void*>(data_.get() + size_), from, count * sizeof(Value));
    size_ += count;
  }
  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }
  void shrink(std::size_t size) { size_ = size; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Value& back() { return data_[size_ - 1]; }
  Value& operator[](std::size_t i) { return data_[i]; }
  const Value& operator[](std::size_t i) const { return data_[i]; }
  const Value* data() const { return data_.get(); }

 private:
  void grow(std::size_t least) {
    const std::size_t next = std::max(least, capacity_ * 2 + 64);
    std::unique_ptr<Value[]> data(new Value[next]);
    if (size_ != 0) std::memcpy(static_cast<void*>(data.get()), data_.get(), size_ * sizeof(Value));
    data_ = std::move(data);
    capacity_ = next;
  }
  std::unique_ptr<Value[]> data_;
  std::size_t size_ = 0, capacity_ = 0;
};

struct TreeLimits {
  std::size_t values = 24u << 20;  // in containers
  std::size_t nodes = 6u << 20;
  std::size_t stack = 6u << 20;  // values that no container holds yet
  std::size_t depth = 256;       // containers that are open at once
};

class Tree {
 public:
  static constexpr std::uint32_t kNone = 0;

  // A container, or a further stretch of one that grew in between. A dict's values are key, value,
  // key, value.
  struct Node {
    std::uint32_t begin = 0, count = 0;
    std::uint32_t next = kNone, last = kNone;  // stretches; last counts in the first one only
    std::uint32_t offset = 0, length = 0;      // in the input; length 0 = not closed
    bool partial = false;  // the input ended, or broke, while it was being filled
  };

  Value root = Value::nothing();
  bool truncated = false;  // the input ends early or breaks: what parsed before is here
  std::string problem;     // "" or a stable code and where: "pickle.refused_GLOBAL at 123"
  std::size_t problem_at = 0;

  std::vector<Node> nodes;  // 0 stands for none
  Values values;
  std::deque<std::string> texts;

  Tree() { nodes.emplace_back(); }

  std::uint32_t open(std::size_t offset) {
    Node node;
    node.offset = static_cast<std::uint32_t>(offset);
    nodes.push_back(node);
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }
  void extend(std::uint32_t id, const Value* from, std::size_t count);

  // Visits the values of a list, or key and value of a dict, until `visit` says false.
  void each(const Value& list, auto visit) const {
    for (std::uint32_t n = list.is_list() ? list.node : kNone; n != kNone; n = nodes[n].next)
      for (std::uint32_t i = 0; i < nodes[n].count; ++i)
        if (!visit(values[nodes[n].begin + i])) return;
  }
  void each_pair(const Value& dict, auto visit) const {
    for (std::uint32_t n = dict.is_dict() ? dict.node : kNone; n != kNone; n = nodes[n].next)
      for (std::uint32_t i = 0; i + 1 < nodes[n].count; i += 2)
        if (!visit(values[nodes[n].begin + i], values[nodes[n].begin + i + 1])) return;
  }
  // The value that stands last for a key, as in Python.
  Value find(const Value& dict, std::string_view key) const;
  std::string_view text(const Value& dict, std::string_view key) const {
    return find(dict, key).text();
  }
  std::optional<std::int64_t> integer(const Value& dict, std::string_view key) const;
  bool truth(const Value& dict, std::string_view key) const {
    const Value v = find(dict, key);
    return v.kind == Value::Kind::boolean && v.integer != 0;
  }
  bool partial(const Value& container) const {
    return (container.is_list() || container.is_dict()) && nodes[container.node].partial;
  }
};

}  // namespace culprit::ingest

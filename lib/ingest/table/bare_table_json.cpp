// Tables in JSON: one document in several shapes, or a row a line.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "ingest/table/bare_table_parts.hpp"
#include "ingest/engine/lenient_json.hpp"

namespace culprit::ingest {

namespace {

constexpr int kDeepestTable = 4;  // of names with dots

class Shapes {
 public:
  Shapes(std::string_view bytes, const Tree& tree, TableBuilder& builder)
      : bytes_(bytes), tree_(tree), builder_(builder) {}

  // A row: an object's members, what is nested with dots; or an array's, by number.
  void row(const Value& value, std::uint64_t line) {
    if (!value.is_dict() && !value.is_list())
      return builder_.reject(line, "table.not_a_row", cell(value));
    builder_.begin_row(line);
    members(value, "", 0);
  }

  // False when the document has no shape that is a table.
  bool document(const Value& root) {
    if (root.is_list()) return list(root);
    BareTable& table = builder_.table();
    if (const Value name = tree_.find(root, "name"); !name.text().empty())
      table.name = std::string(name.text());
    if (const Value series = tree_.find(root, "series"); series.is_list() && tcpd(root, series))
      return true;
    if (keyed(root)) return true;
    return columns(root);
  }

 private:
  std::string_view cell(const Value& v) {
    switch (v.kind) {
      case Value::Kind::none: return {};
      case Value::Kind::boolean: return v.integer != 0 ? "1" : "0";
      case Value::Kind::integer: return builder_.keep(fmt::format("{}", v.integer));
      case Value::Kind::real: return builder_.keep(fmt::format("{}", v.real));
      case Value::Kind::text:
        return builder_.keep(std::string(v.text()));  // a tree's own texts end with it
      default: return bytes_.substr(tree_.nodes[v.node].offset, tree_.nodes[v.node].length);
    }
  }

  void members(const Value& value, const std::string& prefix, int depth) {
    std::size_t number = 0;
    const auto one = [&](const std::string& name, const Value& member) {
      if (member.is_dict() && depth < kDeepestTable) return members(member, name + ".", depth + 1);
      builder_.set(builder_.column(name), cell(member));
    };
    if (value.is_dict())
      tree_.each_pair(value, [&](const Value& key, const Value& member) {
        one(prefix + std::string(key.text()), member);
        return builder_.problem().empty();
      });
    else
      tree_.each(value, [&](const Value& member) {
        one(fmt::format("column {}", ++number), member);
        return builder_.problem().empty();
      });
  }

  bool scalar(const Value& v) const { return !v.is_dict() && !v.is_list(); }

  std::size_t length(const Value& list) const {
    std::size_t out = 0;
    tree_.each(list, [&](const Value&) {
      ++out;
      return true;
    });
    return out;
  }

  void column(std::string_view name, const Value& list) {
    std::string free(name);
    for (int again = 2; builder_.has(free); ++again) free = fmt::format("{} ({})", name, again);
    const std::size_t n = length(list);
    while (builder_.table().rows < n && builder_.problem().empty()) builder_.begin_row(0);
    const std::size_t at = builder_.column(free);
    std::size_t row = 0;
    tree_.each(list, [&](const Value& v) {
      builder_.set(at, row++, cell(v));
      return builder_.problem().empty();
    });
  }

  bool list(const Value& root) {
    Value first = Value::nothing();
    tree_.each(root, [&](const Value& v) {
      first = v;
      return v.kind == Value::Kind::none;
    });
    if (scalar(first)) {
      column("value", root);
      return true;
    }
    // Arrays of arrays may have their names on top.
    std::vector<std::string> names;
    if (first.is_list()) {
      bool texts = true;
      tree_.each(first, [&](const Value& v) {
        names.emplace_back(v.text());
        texts = texts && v.kind == Value::Kind::text;
        return texts;
      });
      double value = 0;
      if (!texts ||
          std::ranges::all_of(names, [&](const std::string& n) { return cell_number(n, value); }))
        names.clear();
    }
    bool header = !names.empty();
    builder_.table().header = header;
    tree_.each(root, [&](const Value& v) {
      if (header) {
        header = false;
        return true;
      }
      if (names.empty() || !v.is_list()) {
        row(v, 0);
        return builder_.problem().empty();
      }
      builder_.begin_row(0);
      std::size_t at = 0;
      tree_.each(v, [&](const Value& member) {
        if (at < names.size())
          builder_.set(builder_.column(names[at]), cell(member));
        else
          builder_.reject(0, "table.long_row", cell(member));
        ++at;
        return true;
      });
      return builder_.problem().empty();
    });
    return true;
  }

  bool tcpd(const Value& root, const Value& series) {
    std::vector<std::pair<std::string, Value>> found;
    tree_.each(series, [&](const Value& one) {
      Value raw = Value::nothing();
      for (const char* key : {"raw", "values", "data"})
        if (const Value v = tree_.find(one, key); v.is_list()) {
          raw = v;
          break;
        }
      std::string_view label;
      for (const char* key : {"label", "name"})
        if (const Value v = tree_.find(one, key); !v.text().empty()) {
          label = v.text();
          break;
        }
      if (raw.is_list())
        found.emplace_back(
            label.empty() ? fmt::format("series {}", found.size() + 1) : std::string(label), raw);
      else
        builder_.reject(0, "table.not_a_row", cell(one));
      return true;
    });
    if (found.empty()) return false;
    BareTable& table = builder_.table();
    table.form = "tcpd";
    for (const auto& [label, raw] : found) column(label, raw);
    for (const auto& [label, raw] : found)
      if (length(raw) < table.rows)
        builder_.reject(0, "table.short_row",
                        fmt::format("{}: {} of {} samples", label, length(raw), table.rows));
    if (const Value n = tree_.find(root, "n_obs");
        n.kind == Value::Kind::integer && n.integer != static_cast<std::int64_t>(table.rows))
      builder_.reject(0, "table.short_row",
                      fmt::format("n_obs says {}, there are {}", n.integer, table.rows));
    table.multivariate = table.columns.size() > 1;
    return true;
  }

  // {"1": 2.5, ...}: the keys, or nothing when they are not all numbers.
  std::vector<std::pair<double, Value>> by_number(const Value& dict) const {
    std::vector<std::pair<double, Value>> out;
    bool good = dict.is_dict();
    tree_.each_pair(dict, [&](const Value& key, const Value& v) {
      double number = 0;
      good = !key.text().empty() && cell_number(key.text(), number) && std::isfinite(number) &&
             scalar(v);
      out.emplace_back(number, v);
      return good;
    });
    if (!good) out.clear();
    return out;
  }

  bool keyed(const Value& root) {
    std::vector<std::pair<std::string, std::vector<std::pair<double, Value>>>> found;
    const auto take = [&](std::string_view name, const Value& dict) {
      auto numbers = by_number(dict);
      if (!numbers.empty()) found.emplace_back(std::string(name), std::move(numbers));
    };
    take("value", root);
    if (found.empty())
      take(builder_.table().name.empty() ? "value" : builder_.table().name,
           tree_.find(root, "values"));
    if (found.empty())
      tree_.each_pair(root, [&](const Value& key, const Value& v) {
        if (!v.is_dict()) return true;
        const Value values = tree_.find(v, "values");
        take(key.text(), values.is_dict() ? values : v);
        return true;
      });
    if (found.empty()) return false;
    // One row a key that any of them has, in numeric order.
    std::map<double, std::size_t> rows;
    for (const auto& [name, numbers] : found)
      for (const auto& [number, v] : numbers) rows.emplace(number, 0);
    for (auto& [number, row] : rows) {
      row = builder_.table().rows;
      builder_.begin_row(0);
    }
    const std::size_t index = builder_.column("index");
    for (const auto& [number, row] : rows)
      builder_.set(index, row, builder_.keep(fmt::format("{}", number)));
    for (const auto& [name, numbers] : found) {
      const std::size_t at = builder_.column(name == "index" ? "index (2)" : name);
      for (const auto& [number, v] : numbers) builder_.set(at, rows[number], cell(v));
    }
    return true;
  }

  bool columns(const Value& root) {
    bool any = false;
    tree_.each_pair(root, [&](const Value& key, const Value& v) {
      Value values = v;
      if (v.is_dict())
        for (const char* name : {"values", "raw", "data"})
          if (const Value inner = tree_.find(v, name); inner.is_list()) {
            values = inner;
            break;
          }
      if (!values.is_list()) return true;
      Value first = Value::nothing();
      tree_.each(values, [&](const Value& one) {
        first = one;
        return one.kind == Value::Kind::none;
      });
      if (!scalar(first)) return true;
      any = true;
      column(key.text(), values);
      return builder_.problem().empty();
    });
    if (any) return true;
    bool scalars = false;
    tree_.each_pair(root, [&](const Value&, const Value& v) {
      scalars = scalars || scalar(v);
      return !scalars;
    });
    if (scalars) row(root, 0);
    return scalars;
  }

  std::string_view bytes_;
  const Tree& tree_;
  TableBuilder& builder_;
};

std::uint64_t line_at(std::string_view bytes, std::size_t at) {
  return 1 + static_cast<std::uint64_t>(std::count(
                 bytes.begin(),
                 bytes.begin() + static_cast<std::ptrdiff_t>(std::min(at, bytes.size())), '\n'));
}

}  // namespace

Result<> read_json_table(std::string_view bytes, TableBuilder& builder) {
  // Lines when the first one is a whole document and another line follows.
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  const std::size_t line_end = std::min(bytes.find('\n', first), bytes.size());
  const auto blank_after = [&](std::string_view text, std::size_t at) {
    return text.find_first_not_of(" \t\r\n", at) == std::string_view::npos;
  };
  bool lines = false;
  if (!blank_after(bytes, line_end)) {
    Tree tree;
    const std::string_view head = bytes.substr(first, line_end - first);
    read_lenient_json(head, tree);
    lines = !tree.truncated && (tree.root.is_dict() || tree.root.is_list());
  }
  if (lines) {
    builder.table().form = "jsonl";
    std::uint64_t number = 0;
    for (std::size_t at = 0; at < bytes.size() && builder.problem().empty();) {
      const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
      const std::string_view line = bytes.substr(at, end - at);
      at = end + 1;
      ++number;
      if (blank_after(line, 0)) continue;
      Tree tree;
      read_lenient_json(line, tree);
      const bool container = tree.root.is_dict() || tree.root.is_list();
      if (tree.truncated || !container ||
          !blank_after(line,
                       tree.nodes[tree.root.node].offset + tree.nodes[tree.root.node].length)) {
        builder.reject(number, "table.bad_json", line);
        continue;
      }
      Shapes(line, tree, builder).row(tree.root, number);
    }
    return {};
  }
  builder.table().form = "json";
  Tree tree;
  read_lenient_json(bytes, tree);
  if (tree.truncated)
    return fail(fmt::format("the JSON breaks or ends early here ({})", tree.problem))
        .at({"", line_at(bytes, tree.problem_at)})
        .hint("export it again; a table that was cut would move every index");
  const auto& root = tree.nodes[tree.root.node];
  if (!blank_after(bytes, root.offset + root.length))
    return fail("something follows the JSON document")
        .at({"", line_at(bytes, root.offset + root.length)})
        .hint("one document a file, or one object a line");
  if (!Shapes(bytes, tree, builder).document(tree.root))
    return fail("this JSON is not a table")
        .at({"", 0})
        .hint(
            "an array of numbers, an array of objects, an object of arrays, or objects with "
            "\"values\"");
  return {};
}

}  // namespace culprit::ingest

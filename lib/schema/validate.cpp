#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "model/contains.hpp"
#include "model/json.hpp"
#include "schema/schema.hpp"

namespace culprit::schema {

namespace {

using nlohmann::json;

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

bool has_type(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  return false;
}

class Validator {
 public:
  explicit Validator(const json& root) : root_(root) {}

  void check(const json& value, const json& schema, const std::string& path, int depth = 0) {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) add(path, "nothing may stand here");
      return;
    }
    if (depth > 64) {
      add(path, "nested too deeply");
      return;
    }
    for (const auto& [keyword, rule] : schema.items())
      apply(keyword, rule, value, schema, path, depth);
  }

  std::vector<Violation> found;

 private:
  void add(const std::string& path, std::string reason) {
    found.push_back({path, std::move(reason)});
  }

  void apply(const std::string& keyword, const json& rule, const json& value, const json& schema,
             const std::string& path, int depth) {
    static const std::set<std::string> kSilent{"$schema",  "$id",     "$defs",
                                               "$comment", "title",   "description",
                                               "examples", "default", "properties"};
    if (keyword == "properties") {
      if (value.is_object()) properties(rule, value, path, depth);
      return;
    }
    if (kSilent.count(keyword) > 0) return;
    if (keyword == "$ref")
      reference(rule.get<std::string>(), value, path, depth);
    else if (keyword == "type")
      type(rule, value, path);
    else if (keyword == "enum") {
      if (!contains(rule, value))
        add(path, fmt::format("{} is none of {}", shown(value), listed(rule, value)));
    } else if (keyword == "const") {
      if (value != rule) add(path, fmt::format("must be {}, is {}", shown(rule), shown(value)));
    } else if (keyword == "required") {
      if (value.is_object())
        for (const auto& key : rule)
          if (!value.contains(key.get<std::string>()))
            add(path, fmt::format("the key '{}' is missing", key.get<std::string>()));
    } else if (keyword == "additionalProperties") {
      if (value.is_object()) additional(rule, value, schema, path, depth);
    } else if (keyword == "items") {
      if (value.is_array())
        for (std::size_t i = 0; i < value.size(); ++i)
          check(value[i], rule, fmt::format("{}[{}]", path, i), depth + 1);
    } else if (keyword == "minItems") {
      if (value.is_array() && value.size() < rule.get<std::size_t>())
        add(path, fmt::format("needs at least {} entries", rule.get<std::size_t>()));
    } else if (keyword == "minLength") {
      if (value.is_string() && value.get_ref<const std::string&>().size() < rule.get<std::size_t>())
        add(path, "must not be empty");
    } else if (keyword == "minimum") {
      if (value.is_number() && value.get<double>() < rule.get<double>())
        add(path, fmt::format("{} is below {}", shown(value), shown(rule)));
    } else if (keyword == "maximum") {
      if (value.is_number() && value.get<double>() > rule.get<double>())
        add(path, fmt::format("{} is above {}", shown(value), shown(rule)));
    } else if (keyword == "pattern") {
      if (value.is_string() &&
          !re2::RE2::PartialMatch(value.get<std::string>(), rule.get<std::string>()))
        add(path,
            fmt::format("{} does not have the form {}", shown(value), rule.get<std::string>()));
    } else if (keyword == "anyOf")
      any_of(rule, value, path, depth);
    else
      add(path, fmt::format("our schema uses the keyword '{}', which is not supported", keyword));
  }

  void reference(const std::string& target, const json& value, const std::string& path, int depth) {
    if (target.rfind("#/", 0) != 0) {
      add(path, "our schema refers to " + target);
      return;
    }
    const json::json_pointer pointer(target.substr(1));
    if (!root_.contains(pointer)) {
      add(path, "our schema refers to " + target + ", which is missing");
      return;
    }
    check(value, root_.at(pointer), path, depth + 1);
  }

  void type(const json& rule, const json& value, const std::string& path) {
    const json types = rule.is_array() ? rule : json::array({rule});
    for (const auto& one : types)
      if (has_type(value, one.get<std::string>())) return;
    add(path,
        fmt::format("must be {}, is {}",
                    rule.is_array() ? shown(rule) : "a value of type " + rule.get<std::string>(),
                    shown(value)));
  }

  std::string listed(const json& rule, const json& value) const {
    std::vector<std::string> words;
    for (const auto& one : rule)
      if (one.is_string()) words.push_back(one.get<std::string>());
    std::string text = fmt::format("{}", fmt::join(words, ", "));
    if (value.is_string())
      if (const std::string near = nearest(value.get<std::string>(), words); !near.empty())
        text += fmt::format(" (did you mean '{}'?)", near);
    return text;
  }

  void properties(const json& rule, const json& value, const std::string& path, int depth) {
    for (const auto& [key, sub] : value.items())
      if (const auto it = rule.find(key); it != rule.end())
        check(sub, *it, path.empty() ? key : path + "." + key, depth + 1);
  }

  void additional(const json& rule, const json& value, const json& schema, const std::string& path,
                  int depth) {
    const json none = json::object();
    const json& known = schema.contains("properties") ? schema.at("properties") : none;
    for (const auto& [key, sub] : value.items()) {
      if (known.contains(key)) continue;
      if (rule.is_boolean()) {
        if (rule.get<bool>()) continue;
        std::vector<std::string> names;
        for (const auto& [name, unused] : known.items()) names.push_back(name);
        const std::string near = nearest(key, names);
        add(path, fmt::format("unknown key '{}'{}", key,
                              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)));
      } else {
        check(sub, rule, path.empty() ? key : path + "." + key, depth + 1);
      }
    }
  }

  void any_of(const json& rule, const json& value, const std::string& path, int depth) {
    for (const auto& one : rule) {
      Validator attempt(root_);
      attempt.check(value, one, path, depth + 1);
      if (attempt.found.empty()) return;
    }
    add(path, fmt::format("{} has none of the allowed forms", shown(value)));
  }

  const json& root_;
};

}  // namespace

std::vector<Violation> validate(const json& document, const json& schema) {
  Validator validator(schema);
  validator.check(document, schema, "");
  return std::move(validator.found);
}

}  // namespace culprit::schema

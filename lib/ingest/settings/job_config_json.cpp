// Configurations of a training in JSON: each scalar with its value, named by its path.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/job_setting.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/engine/line_numbers.hpp"
#include "ingest/engine/setting_lines.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

using std::string_view;

constexpr std::size_t kMostConfigJson = 1u << 20;
constexpr int kDeepestConfig = 8;

// Named as configurations are.
bool named_as_config(string_view base) {
  const std::string small = lower(base);
  if (!small.ends_with(".json") || contains(string_view(small), "kube")) return false;
  for (const string_view word : {"config", "args", "argument", "params", "hparam", "settings",
                                 "ds_conf", "deepspeed", "recipe"})
    if (contains(string_view(small), word)) return true;
  return false;
}

bool sniff_job_config_json(const Head& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return named_as_config(head.base()) && at != string_view::npos && head.bytes[at] == '{' &&
         !head.has_any({"\"apiVersion\"", "\"kind\"", "\"hosts\"", "\"nodes\"", "\"error\"",
                        "\"message\"", "\"traceEvents\""});
}

class ConfigWalk {
 public:
  ConfigWalk(string_view bytes, const Tree& tree, const MemberRow& member, Reading& reading)
      : bytes_(bytes), tree_(tree), member_(member), reading_(reading), lines_(bytes) {}

  void object(const Value& value, const std::string& path, int depth) {
    tree_.each_pair(value, [&](const Value& key, const Value& one) {
      const string_view name = key.text();
      // {"lr": {"value": 0.1, "desc": null}} of wandb
      const bool wrapped =
          one.is_dict() && !tree_.find(one, "desc").is_dict() && scalar(tree_.find(one, "value"));
      const Value& held = wrapped ? tree_.find(one, "value") : one;
      if (scalar(held))
        put(path + std::string(name), held, key);
      else if (held.is_dict() && depth < kDeepestConfig && path.size() < 160)
        object(held, path + std::string(name) + ".", depth + 1);
      return kept_ < kSettingsPerFile;
    });
  }

 private:
  static bool scalar(const Value& v) {
    return v.kind == Value::Kind::boolean || v.kind == Value::Kind::integer ||
           v.kind == Value::Kind::real || v.kind == Value::Kind::text;
  }
  static std::string text_of(const Value& v) {
    switch (v.kind) {
      case Value::Kind::boolean: return v.integer != 0 ? "true" : "false";
      case Value::Kind::integer: return fmt::format("{}", v.integer);
      case Value::Kind::real: return fmt::format("{}", v.real);
      default: return std::string(v.text().substr(0, 400));
    }
  }

  // Of a secret no value is kept.
  void put(const std::string& name, const Value& v, const Value& key) {
    const auto setting = job_setting(name + ": " + text_of(v));
    if (!setting || name.size() > 200) return;
    ++kept_;
    // A key without escapes is a view into the text.
    const char* const at = key.text().data();
    const bool inside = at >= bytes_.data() && at < bytes_.data() + bytes_.size();
    if (inside) offset_ = static_cast<std::size_t>(at - bytes_.data());
    const auto& [number, begin, end] = lines_.of(offset_);
    reading_.sink.put(
        ConfigRow{.place = line_place(member_, number, begin, bytes_.substr(begin, end - begin)),
                  .name = "job." + name,
                  .value = setting->value});
  }

  string_view bytes_;
  const Tree& tree_;
  const MemberRow& member_;
  Reading& reading_;
  LineNumbers lines_;
  std::size_t kept_ = 0, offset_ = 0;
};

std::string read_job_config_json(string_view bytes, const MemberRow& member, Reading& reading) {
  Tree tree;
  read_lenient_json(bytes, tree);
  ConfigWalk(bytes, tree, member, reading).object(tree.root, "", 0);
  if (tree.truncated) reading.cut = true;
  return "";
}

}  // namespace

extern constinit const Document kJobConfigJson{
    "job-config-json", "configuration of a training in JSON: keys and values", kMostConfigJson,
    sniff_job_config_json, read_job_config_json};

}  // namespace culprit::ingest

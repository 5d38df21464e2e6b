// Configurations of a training in YAML, as people copy them into a bundle, and manifests of its
// pods: each key with its value, named by its path ("optim.lr"). One says little; two of one name
// show what was changed.
#include <vector>

#include "ingest/engine/job_setting.hpp"
#include "ingest/engine/setting_lines.hpp"

namespace culprit::ingest {

namespace {

using std::string_view;

constexpr std::size_t kMostConfig = 512u << 10;

struct Level {
  std::size_t indent = 0;
  std::string name;
};

bool yaml(const Head& head) {
  return head.base().ends_with(".yaml") || head.base().ends_with(".yml");
}

// What somebody gave to a cluster to run, not what the cluster tells of it.
bool manifest_of_pods(const Head& head) {
  return head.has("apiVersion:") && head.has("containers:") && !head.has("\nstatus:") &&
         !head.has("creationTimestamp:") && !head.has("\nitems:");
}

// Objects of a cluster, inventories and topologies have readers of their own.
bool sniff_job_config(const Head& head) {
  if (!yaml(head) || head.has("nodeName:") || head.has("switch:") || head.has("ansible_") ||
      ((head.has("apiVersion:") || head.has("\nkind:")) && !manifest_of_pods(head)))
    return false;
  bool hosts = false;
  const bool settings = setting_share(head, 70, [&](string_view line) {
    const string_view text = trimmed(line);
    hosts = hosts || text == "hosts:" || text == "nodes:";
    return text[0] == '#' || text.starts_with("- ") || text == "---" ||
           job_setting(text).has_value();
  });
  return settings && !hosts;
}

std::string read_job_config(string_view bytes, const MemberRow& member, Reading& reading) {
  std::vector<Level> above;
  std::size_t kept = 0;
  each_text_line(bytes, [&](string_view line, std::uint64_t number, std::size_t offset) {
    const string_view text = trimmed(line);
    if (text.empty() || text[0] == '#' || kept >= kSettingsPerFile) return;
    const auto setting = job_setting(text);
    if (!setting) return;
    const std::size_t indent = line.find_first_not_of(' ');
    while (!above.empty() && above.back().indent >= indent) above.pop_back();
    std::string name;
    for (const Level& level : above) name += level.name + ".";
    name += setting->name;
    if (setting->value.empty()) {
      above.push_back({indent, setting->name});
      return;
    }
    if (name.size() > 200) return;
    ++kept;
    reading.sink.put(ConfigRow{.place = line_place(member, number, offset, line),
                               .name = "job." + name,
                               .value = setting->value});
  });
  return "";
}

}  // namespace

extern constinit const Document kJobConfig{"job-config",
                                           "configuration of a training in YAML: keys and values",
                                           kMostConfig, sniff_job_config, read_job_config};

}  // namespace culprit::ingest

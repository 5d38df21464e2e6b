// What starts a job, as people keep it: scripts for a scheduler, command lines, and settings in
// TOML and INI. Each option, variable and directive is a setting of the job. One says little; those
// of two runs show what was changed.
#include <string>

#include "ingest/engine/document.hpp"
#include "ingest/engine/job_setting.hpp"
#include "ingest/engine/setting_lines.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

using std::string_view;

constexpr std::size_t kMostScript = 512u << 10;

bool ends_with_any(string_view text, std::initializer_list<string_view> endings) {
  return std::ranges::any_of(endings, [&](string_view one) { return text.ends_with(one); });
}

bool launches(const Head& head) {
  return head.has_any({"#SBATCH", "srun ", "torchrun", "python ", "python3 ", "deepspeed ",
                       "mpirun", "accelerate launch", "--nproc"});
}

bool named_as_command(string_view base) {
  const std::string small = lower(base);
  const string_view stem = string_view(small).substr(0, small.find_last_of('.'));
  return ends_with_any(small, {".txt", ".cmd"}) &&
         (stem.starts_with("cmd") || stem.starts_with("command") || stem.starts_with("launch") ||
          ends_with_any(stem, {"_cmd", "_command", "_launch", "cmdline"}));
}

bool sniff_launch_script(const Head& head) {
  if (contains(head.bytes.substr(0, 4096), '\0')) return false;
  const string_view base = head.base();
  if (ends_with_any(base, {".sh", ".bash", ".sbatch", ".slurm"}) || named_as_command(base))
    return launches(head);
  return ends_with_any(base, {".toml", ".ini", ".cfg"}) &&
         setting_share(head, 60, [](string_view line) {
           const string_view text = trimmed(line);
           return text[0] == '#' || text[0] == ';' || text[0] == '[' ||
                  (contains(text, '=') && job_setting(text).has_value());
         });
}

class Script {
 public:
  Script(const MemberRow& member, Reading& reading) : member_(member), reading_(reading) {}

  void take(string_view line, std::uint64_t number, std::size_t offset) {
    string_view text = trimmed(line);
    if (text.starts_with("#SBATCH ") || text.starts_with("#PBS ") || text.starts_with("#BSUB "))
      text = trimmed(text.substr(text.find(' ')));
    else if (text.empty() || text[0] == '#' || text[0] == ';')
      return;
    if (text[0] == '[') {  // a table of TOML
      section_ = std::string(text.substr(1, text.find(']') - 1)) + ".";
      if (section_.size() > 100 || section_.size() < 2) section_.clear();
      return;
    }
    for (const JobSetting& setting : job_settings(text)) {
      if (kept_ >= kSettingsPerFile || setting.name.size() > 200) return;
      ++kept_;
      reading_.sink.put(ConfigRow{.place = line_place(member_, number, offset, line),
                                  .name = "job." + section_ + setting.name,
                                  .value = setting.value.empty() ? "set" : setting.value});
    }
  }

 private:
  const MemberRow& member_;
  Reading& reading_;
  std::string section_;
  std::size_t kept_ = 0;
};

std::string read_launch_script(string_view bytes, const MemberRow& member, Reading& reading) {
  Script script(member, reading);
  each_text_line(bytes, [&](string_view line, std::uint64_t number, std::size_t offset) {
    script.take(line, number, offset);
  });
  return "";
}

}  // namespace

extern constinit const Document kLaunchScript{
    "launch-script", "what starts a job: scripts, command lines, settings in TOML and INI",
    kMostScript, sniff_launch_script, read_launch_script};

}  // namespace culprit::ingest

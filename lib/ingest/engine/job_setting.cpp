// Takes a line of settings apart: the name, what separates, the value.
#include "ingest/engine/job_setting.hpp"

#include <algorithm>
#include <cctype>

#include "line/trimmed.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

using line::trimmed;
using std::string_view;

constexpr std::size_t kLongestName = 100, kLongestValue = 400;
constexpr string_view kNotKept = "(not kept)";

bool letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
         c == '/';
}
bool upper(string_view name) {
  return std::ranges::none_of(name, [](unsigned char c) { return std::islower(c) != 0; }) &&
         std::ranges::any_of(name, [](unsigned char c) { return std::isupper(c) != 0; });
}

// By whole words of the name: "hf_token" and "api_key", not "max_tokens" and "hf_tokenizer".
bool secret(string_view name) {
  std::string low = "_";
  for (const char c : name)
    low += std::isalnum(static_cast<unsigned char>(c)) != 0
               ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
               : '_';
  low += '_';
  for (const string_view word :
       {"_token_", "_password_", "_passwd_", "_secret_", "_api_key_", "_apikey_", "_access_key_",
        "_private_key_", "_credential_", "_credentials_"})
    if (low.find(word) != std::string::npos) return true;
  return false;
}

string_view without_quotes(string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
      text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

// A remark behind the value, the comma of a list, the backslash of a command.
string_view value_in(string_view text) {
  if (const std::size_t remark = text.find(" #"); remark != string_view::npos)
    text = text.substr(0, remark);
  text = trimmed(text);
  while (!text.empty() && (text.back() == ',' || text.back() == '\\' || text.back() == ';'))
    text = trimmed(text.substr(0, text.size() - 1));
  return without_quotes(text).substr(0, kLongestValue);
}

// Where the name ends and what separates it from the value.
struct Parts {
  string_view name, value;
};
std::optional<Parts> parts_of(string_view line, bool flag) {
  if (line.empty()) return std::nullopt;
  const bool quoted = line[0] == '"' || line[0] == '\'';
  const std::size_t begin = quoted ? 1 : 0;
  if (begin >= line.size() || !letter(line[begin])) return std::nullopt;
  std::size_t end = begin;
  while (end < line.size() && of_name(line[end])) ++end;
  if (end - begin > kLongestName) return std::nullopt;
  const string_view name = line.substr(begin, end - begin);
  if (quoted) {
    if (end >= line.size() || line[end] != line[0]) return std::nullopt;
    ++end;
  }
  string_view rest = line.substr(end);
  if (rest.starts_with("==")) return Parts{name, rest.substr(2)};
  const string_view left = trimmed(rest);
  if (left.starts_with(":") || (left.starts_with("=") && !left.starts_with("=="))) {
    const string_view value = left.substr(1);
    // "foo::bar", "a := b"
    if (value.starts_with(":") || value.starts_with("=")) return std::nullopt;
    return Parts{name, value};
  }
  if (left.starts_with("....") || left.starts_with("... ")) {
    const std::size_t value = left.find_first_not_of('.');
    if (value == string_view::npos || left[value] == ':') return std::nullopt;
    return Parts{name, left.substr(value)};
  }
  if (flag) return Parts{name, rest};
  return std::nullopt;
}

// A call or an expression is a program's, not a value that somebody set.
bool code(string_view name, string_view value) {
  if (name == "if" || name == "else" || name == "for" || name == "while" || name == "try" ||
      name == "return" || name == "def" || name == "class" || name == "with")
    return true;
  const std::size_t call = value.find('(');
  return call != string_view::npos && call > 0 && of_name(value[call - 1]);
}

// "Moe-Aux.Loss" and "moe_aux.loss" are one name.
std::string setting_name(string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(c));
  });
  return out;
}

// Words of a command line; quotes hold one together.
std::vector<string_view> command_words(string_view line) {
  constexpr std::size_t kMostWords = 200;
  std::vector<string_view> out;
  std::size_t at = line.find_first_not_of(" \t");
  while (at < line.size() && out.size() < kMostWords) {
    std::size_t end = at;
    for (char quote = 0; end < line.size() && (quote != 0 || !contains(" \t", line[end])); ++end)
      if (line[end] == quote)
        quote = 0;
      else if (quote == 0 && (line[end] == '"' || line[end] == '\''))
        quote = line[end];
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t", end);
  }
  return out;
}

}  // namespace

std::vector<JobSetting> job_settings(string_view line) {
  line = trimmed(line);
  const std::vector<string_view> words = command_words(line);
  const auto option = [](string_view word) { return word.size() > 2 && word.starts_with("--"); };
  const bool several = words.size() > 1 && std::any_of(words.begin() + 1, words.end(), option);
  if (!several || contains(words.front(), ':')) {
    const auto one = job_setting(line);
    return one ? std::vector{*one} : std::vector<JobSetting>();
  }
  std::vector<JobSetting> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool valued = option(words[i]) && !contains(words[i], '=') && i + 1 < words.size() &&
                        !words[i + 1].starts_with("-") && words[i + 1] != "\\";
    const string_view whole =
        valued ? string_view(words[i].data(),
                             static_cast<std::size_t>(words[i + 1].data() + words[i + 1].size() -
                                                      words[i].data()))
               : words[i];
    if (option(words[i]) || contains(words[i], '='))
      if (const auto one = job_setting(whole)) out.push_back(*one);
    i += valued;
  }
  return out;
}

bool library_variable(string_view key) {
  if (key == "NCCL_COMM_ID" || key == "CUDA_VISIBLE_DEVICES" || contains(key, "TOKEN") ||
      contains(key, "KEY"))
    return false;
  static constexpr string_view kOfLibraries[] = {"NCCL_",    "UCX_",      "TORCH_", "CUDA_",
                                                 "PYTORCH_", "OMPI_MCA_", "FI_",    "GLOO_",
                                                 "NVTE_",    "CUBLAS_",   "CUDNN_"};
  return std::ranges::any_of(kOfLibraries, [&](string_view one) { return key.starts_with(one); }) ||
         key == "OMP_NUM_THREADS" || key == "LD_LIBRARY_PATH" || key == "LD_PRELOAD" ||
         key == "MALLOC_ARENA_MAX";
}

bool batch_directive(string_view line) {
  return line.starts_with("#SBATCH ") || line.starts_with("#PBS ") || line.starts_with("#BSUB ");
}

std::optional<JobSetting> job_setting(string_view line) {
  line = trimmed(line);
  if (line.starts_with("ii  ")) {  // dpkg -l
    line = trimmed(line.substr(4));
    const string_view name = line.substr(0, line.find_first_of(" :"));
    const string_view rest = trimmed(line.substr(std::min(line.find(' '), line.size())));
    if (name.empty() || rest.empty()) return std::nullopt;
    return JobSetting{"package." + setting_name(name), std::string(rest.substr(0, rest.find(' ')))};
  }
  if (line.starts_with("FROM "))  // of a Dockerfile
    return JobSetting{"image", std::string(value_in(line.substr(5)))};
  if (batch_directive(line)) line = trimmed(line.substr(line.find(' ')));
  if (line.starts_with("export ")) line = trimmed(line.substr(7));
  if (line.starts_with("- ")) line = trimmed(line.substr(2));  // an item of a list
  const bool flag = line.starts_with("--");
  if (flag) line.remove_prefix(2);
  const auto parts = parts_of(line, flag);
  if (!parts || code(parts->name, parts->value)) return std::nullopt;
  const string_view value = secret(parts->name) ? kNotKept : value_in(parts->value);
  const bool package = parts->value.data() != nullptr && parts->value.data() > line.data() + 1 &&
                       parts->value.data()[-1] == '=' && parts->value.data()[-2] == '=';
  if (package) return JobSetting{"package." + setting_name(parts->name), std::string(value)};
  if (!flag && upper(parts->name) && !contains(parts->name, '.'))
    return JobSetting{"env." + std::string(parts->name), std::string(value)};
  return JobSetting{setting_name(parts->name), std::string(value)};
}

}  // namespace culprit::ingest

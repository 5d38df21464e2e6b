#include "ingest/settings/asked_machines.hpp"

#include <algorithm>
#include <set>

#include <re2/re2.h>

#include "line/header_layout.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostAnswers = 100'000, kLongestQuestion = 80, kLongestAnswer = 200;

std::string setting_named(const std::string& question, const std::string& answer) {
  static const re2::RE2 kDriver(R"(\d{3}\.\d{2,3}(?:\.\d{2})?)"),
      kKernel(R"(\d+\.\d+\.\d+-\d+[\w.-]*)");
  static const re2::RE2 kOfDriver(R"((?i)driver|nvidia)"),
      kNotNow(R"((?i)target|planned|after|before|old|new|roll|limit|power|min|max)");
  if (re2::RE2::FullMatch(answer, kDriver) && re2::RE2::PartialMatch(question, kOfDriver) &&
      !re2::RE2::PartialMatch(question, kNotNow))
    return "driver_version";
  if (re2::RE2::FullMatch(answer, kKernel)) return "kernel_version";
  return "answer." + question;
}

}  // namespace

void AskedMachines::add(const std::string& question, std::string_view host, std::string_view answer,
                        const Place& place) {
  if (kept_ >= kMostAnswers) return;
  ++kept_;
  answers_[question.substr(0, kLongestQuestion)].push_back(
      {std::string(host), std::string(answer.substr(0, kLongestAnswer)), place});
}

void AskedMachines::finish(Reading& reading) {
  for (const auto& [question, answers] : answers_) {
    std::map<std::string, std::size_t> counts;
    std::set<std::string> hosts;
    for (const Answer& one : answers) {
      ++counts[one.text];
      hosts.insert(one.host);
    }
    const auto usual = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; });
    // A machine that answers twice is no row of a table.
    if (hosts.size() != answers.size() || !nearly_all(usual->second, answers.size())) continue;
    const std::string name = setting_named(question, usual->first);
    for (const Answer& one : answers)
      reading.sink.put(
          ConfigRow{.place = one.place, .name = name, .value = one.text, .host = Host(one.host)});
  }
}

}  // namespace culprit::ingest

// What a plan is asked about: values from flags, from a JSON object (--input FILE) whose keys are
// the names of the flags with _ for -, or of a job that a database knows. A flag wins over the
// file, and the file over the database.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "arguments.hpp"
#include "model/result.hpp"

namespace culprit::cli {

// A file that a plan reads, 64 MiB at most; - is standard input.
Result<std::string> read_plan_file(const std::string& path);

// JSON of a plan's file. Errors (usage) name the file, the line, the reason, and `what` it should
// be.
Result<nlohmann::json> parse_plan_json(const std::string& text, const std::string& path,
                                       const std::string& what);

// Options that plans have at the end of their tables; the first one where an incident helps.
inline constexpr OptionSpec kPlanDatabase[] = {
    {"db,d", "FILE", "the database of an incident, for what it knows of the job"}};
inline constexpr OptionSpec kPlanOptions[] = {
    {"input", "FILE", "a JSON object with the options as keys, _ for -; - is standard input"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"}};

// All errors are usage errors that name the flag, or the file and its key.
class PlanInput {
 public:
  // Reads --input. Keys that are no option of the table are refused, as are formats other than text
  // and json, and arguments: only plans with --db take some, which are bundles.
  // may_solve: "solve FILE" are arguments, too, which the plan looks at itself.
  static Result<PlanInput> read(const Arguments& arguments, std::span<const OptionSpec> table,
                                bool may_solve = false);

  bool has(const std::string& name) const;
  bool wants_json() const { return json_; }

  // One number within [low, high]; `otherwise` when it was not given. Never NaN.
  Result<std::int64_t> integer(const std::string& name, std::int64_t otherwise, std::int64_t low,
                               std::int64_t high) const;
  Result<double> real(const std::string& name, double otherwise, double low, double high) const;
  Result<std::string> text(const std::string& name, const std::string& otherwise = "") const;
  // The same into a place, which has the default already.
  Result<> set(const std::string& name, std::int64_t& place, std::int64_t low,
               std::int64_t high) const;
  Result<> set(const std::string& name, double& place, double low, double high) const;
  // Many: "1.5,2,3" or [1.5, 2, 3].
  Result<std::vector<double>> reals(const std::string& name, double low, double high,
                                    std::size_t most) const;
  // Names: "a,b" (or n[1-4], as Slurm writes hosts) or ["a", "b"].
  Result<std::vector<std::string>> names(const std::string& name, std::size_t most) const;
  // Rows of numbers: a flag that is repeated, "120,480,1500,1000" each, or an array of objects with
  // exactly these keys.
  Result<std::vector<std::vector<double>>> table(const std::string& name,
                                                 std::span<const char* const> columns, double low,
                                                 double high, std::size_t most) const;

  // Names with a text each: a flag that is repeated, "t1=n[1-4]" each, or an object whose values
  // are texts or arrays of texts.
  Result<std::vector<std::pair<std::string, std::string>>> pairs(const std::string& name,
                                                                 std::size_t most) const;

  // "--machines", or "the key 'machines'" of the file.
  std::string spelled(const std::string& name) const;
  // An error about a value, with its place.
  Error complaint(const std::string& name, const std::string& what) const;

 private:
  const nlohmann::json* node(const std::string& name) const;  // null: a flag was given, or neither

  const Arguments* arguments_ = nullptr;
  std::span<const OptionSpec> table_;  // of the command, which outlives it
  std::shared_ptr<const nlohmann::json> file_;
  std::string path_;
  bool json_ = false;
};

}  // namespace culprit::cli

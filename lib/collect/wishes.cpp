#include "collect/wishes.hpp"

#include "model/json.hpp"

namespace culprit::collect {

Result<std::vector<Wish>> wishes_of(std::string_view document,
                                    const std::map<Rank, Host>& host_of) {
  const auto parsed = parse_json(document);
  std::vector<Wish> out;
  try {
    for (const auto& step : parsed.at("verdict").at("next")) {
      const auto source = term_named<Source>(step.value("source", ""));
      if (!source || *source == Source::none) continue;
      Wish wish{*source, {}, step.at("text").get<std::string>()};
      const auto kind = term_named<SubjectKind>(step.at("of").at("kind").get<std::string>());
      const auto id = step.at("of").at("id").get<std::string>();
      if (kind == SubjectKind::host) wish.hosts = {id};
      if (kind == SubjectKind::rank)
        if (const auto at = host_of.find(Rank{std::strtoll(id.c_str(), nullptr, 10)});
            at != host_of.end())
          wish.hosts.push_back(at->second);
      out.push_back(std::move(wish));
    }
  } catch (const nlohmann::json::exception&) {
    return fail("the verdict of this database cannot be read")
        .hint("`culprit diagnose` makes it anew");
  }
  return out;
}

}  // namespace culprit::collect

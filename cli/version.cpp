#include "version.hpp"

namespace culprit::cli {

const std::string_view kProgram = "culprit " CULPRIT_VERSION;
const std::string_view kCompiler = CULPRIT_COMPILER;
#ifdef CULPRIT_STATIC_BUILD
const std::string_view kLinked = "static";
#else
const std::string_view kLinked = "shared";
#endif

}  // namespace culprit::cli

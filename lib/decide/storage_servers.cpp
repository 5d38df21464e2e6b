// Hands faults of storage servers over to the storage.
#include "decide/storage_servers.hpp"

#include <algorithm>

namespace culprit::decide {

void faults_of_servers(Case& incident) {
  const std::vector<Host>& servers = incident.storage_servers;
  for (Finding& f : incident.findings) {
    if (f.analysis != Analysis::classify || f.cause != CauseKind::machine || !f.host ||
        !std::binary_search(servers.begin(), servers.end(), *f.host))
      continue;
    f.cause = CauseKind::shared;
    f.scope = Scope::shared;
    f.subject = {SubjectKind::storage, *f.host};
    f.symptom = Symptom::filesystem_mount;  // what its clients see
  }
}

bool told_by_server(const Finding& f) {
  return f.subject.kind == SubjectKind::storage && f.host && f.subject.id == *f.host;
}

}  // namespace culprit::decide

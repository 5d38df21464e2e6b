// What a server of files reports of its own disks is a fault of the storage that all machines
// share.
#pragma once

#include "decide/case.hpp"

namespace culprit::decide {

// Findings of a machine's own fault on a server of files that runs no rank become findings of the
// storage, by the server's name.
void faults_of_servers(Case& incident);

// Whether it is such a finding.
bool told_by_server(const Finding& f);

}  // namespace culprit::decide

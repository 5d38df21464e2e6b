#include "model/json.hpp"

CULPRIT_JSON_INSTANCES()

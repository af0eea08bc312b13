#include "trace/trace-hw_fabric_ub_ubc.h"

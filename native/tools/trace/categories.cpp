#include "trace/categories.h"

namespace sonde::trace {
namespace {

struct Category {
  std::string_view name;
  Family family;
};

constexpr Category kCategories[] = {
    // torch 1.8 to 1.11
    {"Operator", kOps},
    {"Runtime", kLaunches},
    {"Kernel", kDevice},
    {"Memcpy", kDevice},
    {"Memset", kDevice},
    // torch 1.12 on
    {"cpu_op", kOps},
    {"user_annotation", kOps},
    {"python_function", kOps},
    {"cuda_runtime", kLaunches},
    {"cuda_driver", kLaunches},
    {"mtia_runtime", kLaunches},
    {"glow_runtime", kLaunches},
    {"xpu_runtime", kLaunches},
    {"xpu_driver", kLaunches},
    {"privateuse1_runtime", kLaunches},
    {"privateuse1_driver", kLaunches},
    {"hip_runtime", kLaunches},
    {"kernel", kDevice},
    {"gpu_memcpy", kDevice},
    {"gpu_memset", kDevice},
    {"cuda_sync", kDevice},
    {"xpu_sync", kDevice},
    {"cuda_event", kDevice},
    {"gpu_user_annotation", kDevice},
    {"mtia_ccp_events", kDevice},
    {"mtia_insight", kDevice},
    {"hpu_op", kDevice},
    {"collective_comm", kDevice},
    {"cuda_profiler_range", kDevice},
};

constexpr std::string_view kIgnored[] = {
    "Ev Idx",       "Record function id", "Profiler Event Index", "Trace name",      "Trace iteration",
    "Input names",  "Output dims",        "Output type",          "Output names",    "Extra arguments",
    "finished",     "queued",             "context",              "external ts",     "sort_index",
    "cbid",         "cid",
};

}  // namespace

Family family_of(std::string_view category) {
  for (const Category& known : kCategories) {
    if (known.name == category) return known.family;
  }
  return kOthers;
}

bool is_ignored_argument(std::string_view key) {
  for (const std::string_view ignored : kIgnored) {
    if (ignored == key) return true;
  }
  return false;
}

}  // namespace sonde::trace

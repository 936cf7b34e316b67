#include "jit/jit.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "common/clock.h"
#include "jit/jitdump.h"
#include "jit/perf_map.h"
#include "jit/regions.h"

namespace sonde {
namespace {

struct Names {
  Jitdump own_dump, inherited_dump;  // a forked child goes on writing to its parent's file
  PerfMap own_map, inherited_map;
  CodeRegions regions;
  int pid = 0;
  int parent_pid = 0;
};
constinit Names g_names;

constinit char dump_folder[400] = ".";

}  // namespace

// Where jitdump writers put their files, in the order of oneDNN.
void jit_remember_folder() {
  const char* folder = getenv("JITDUMPDIR");
  if (!folder) folder = getenv("HOME");
  if (folder && std::strlen(folder) < sizeof dump_folder) std::strcpy(dump_folder, folder);
}

bool jit_poll(log::Writer& log) {
  if (g_names.pid == 0) {
    g_names.pid = getpid();
    g_names.own_map.set_pid(g_names.pid);
    if (g_names.parent_pid) g_names.inherited_map.set_pid(g_names.parent_pid);
  }
  const uint64_t now_ns = mono_ns();
  if (!g_names.own_dump.found()) g_names.own_dump.find(dump_folder, g_names.pid);
  bool news = g_names.inherited_dump.poll(log);
  news |= g_names.own_dump.poll(log);
  if (g_names.parent_pid) news |= g_names.inherited_map.poll(now_ns, log);
  news |= g_names.own_map.poll(now_ns, log);
  news |= g_names.regions.poll(now_ns, log);
  return news;
}

void jit_forget_written() {
  g_names.own_dump.start_over();
  g_names.inherited_dump.start_over();
  g_names.own_map.start_over();
  g_names.inherited_map.start_over();
  g_names.regions.forget();
}

void jit_after_fork() {
  if (g_names.own_dump.found()) g_names.inherited_dump = g_names.own_dump;
  g_names.inherited_dump.inherit(getpid(), mono_ns());
  g_names.own_dump = Jitdump{};
  g_names.own_map = PerfMap{};
  g_names.parent_pid = g_names.pid;
  g_names.pid = 0;
  g_names.regions.forget();
}

}  // namespace sonde

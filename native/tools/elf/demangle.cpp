#include "elf/demangle.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>

namespace sonde {
namespace {

using Demangler = char* (*)(const char*, char*, size_t*, int*);

// A build with libc++ writes other names ('lambda'(int) for {lambda(int)#1}, six of ten differ in libtorch), and
// names are what recordings of two builds are compared by. duckdb, which every recording needs, has
// brought libstdc++ into the process; without it libc++'s names are better than none.
Demangler Preferred() {
#if defined(_LIBCPP_VERSION)
  if (void* runtime = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL)) {
    if (void* found = dlsym(runtime, "__cxa_demangle")) return reinterpret_cast<Demangler>(found);
  }
#endif
  return abi::__cxa_demangle;
}

bool Take(Demangler demangler, const char* name, std::string* result) {
  int status = 0;
  char* text = demangler(name, nullptr, nullptr, &status);
  if (status != 0 || text == nullptr) return false;
  result->assign(text);
  free(text);
  return true;
}

}  // namespace

std::string Demangle(std::string_view mangled) {
  static const Demangler preferred = Preferred();
  std::string name(mangled);
  if (name.size() < 3 || name[0] != '_' || name[1] != 'Z') return name;
  std::string result;
  if (Take(preferred, name.c_str(), &result)) return result;
  // Names of deeply nested lambdas are beyond libstdc++, and not beyond libc++.
  if (preferred != abi::__cxa_demangle && Take(abi::__cxa_demangle, name.c_str(), &result)) return result;
  return name;
}

}  // namespace sonde

/* Steps and regions of a C or C++ program, for `sonde run`.
 *
 * Header only. There is nothing to link: the functions are found in the agent that `sonde run` preloads, and do nothing
 * without it (a test of a pointer). Compile with -I"$(python -c 'import sonde; print(sonde.get_include())')".
 *
 *   sonde_step();                        // a step (batch, request, iteration) ends here
 *   sonde_region_begin("tokenise");      // regions nest, per thread
 *   sonde_region_end();
 *
 * In C++ also sonde::step(), and sonde::region for a scope:
 *
 *   { sonde::region here("tokenise"); ... }
 *
 * Programs that use torch::optim need no marks: their steps are seen.
 */
#ifndef SONDE_H
#define SONDE_H

#include <dlfcn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Weak, so that a program without libdl (glibc before 2.34) still links; it is then never recorded. */
#pragma weak dlsym

typedef void (*sonde_function_)(void);
typedef void (*sonde_named_function_)(const char*);

#define SONDE_FIND_(type, name)                                                            \
  static type function = 0;                                                                \
  static int looked = 0; /* threads that race look twice and find the same */              \
  if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {                                       \
    void* found = dlsym ? dlsym((void*)0 /* RTLD_DEFAULT */, name) : (void*)0;             \
    __atomic_store_n((void**)&function, found, __ATOMIC_RELAXED);                          \
    __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);                                        \
  }

static inline void sonde_step(void) {
  SONDE_FIND_(sonde_function_, "sonde_agent_step")
  if (function) function();
}

static inline void sonde_region_begin(const char* name) {
  SONDE_FIND_(sonde_named_function_, "sonde_agent_region_begin")
  if (function) function(name);
}

static inline void sonde_region_end(void) {
  SONDE_FIND_(sonde_function_, "sonde_agent_region_end")
  if (function) function();
}

#undef SONDE_FIND_

#ifdef __cplusplus
}

namespace sonde {

inline void step() { sonde_step(); }

class region {
 public:
  explicit region(const char* name) { sonde_region_begin(name); }
  ~region() { sonde_region_end(); }
  region(const region&) = delete;
  region& operator=(const region&) = delete;
};

}  // namespace sonde
#endif

#endif /* SONDE_H */

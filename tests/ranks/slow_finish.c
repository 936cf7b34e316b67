/* Preloaded: gloo's thread is late to end a collective's record, as on a busy machine. The program, told before, is not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

#define FINISH "_ZN4c10d4Work6finishENSt15__exception_ptr13exception_ptrE"

void finish(void* self, void* error) __asm__(FINISH);
void finish(void* self, void* error) {
  static void (*real)(void*, void*);
  if (!real) real = (void (*)(void*, void*))dlsym(dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY), FINISH);
  usleep(20000);
  real(self, error);
}

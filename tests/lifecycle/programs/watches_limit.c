// Starts threads one after the other, while another one asks for the limit of descriptors all the time.
// usage: watches_limit THREADS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static int done = 0;
static void* nothing(void* unused) { return unused; }
static void* start_many(void* count) {
  for (int i = 0; i < *(int*)count; i++) {
    pthread_t id;
    pthread_create(&id, NULL, nothing, NULL);
    pthread_join(id, NULL);
  }
  __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
  return NULL;
}

int main(int argc, char** argv) {
  struct rlimit ours, now;
  getrlimit(RLIMIT_NOFILE, &ours);
  ours.rlim_cur = 512;  // below the hard limit: there is room to raise it
  int count = atoi(argv[argc - 1]), changes = 0;
  setrlimit(RLIMIT_NOFILE, &ours);
  pthread_t id;
  pthread_create(&id, NULL, start_many, &count);
  while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
    getrlimit(RLIMIT_NOFILE, &now);
    changes += now.rlim_cur != ours.rlim_cur || now.rlim_max != ours.rlim_max;
  }
  pthread_join(id, NULL);
  printf("changed %d times\n", changes);
  return 0;
}

// Allocates, loads and unloads libraries and starts threads, all the time, until the file named first is there.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <thread>

static std::atomic<bool> over{false};
static std::atomic<long> wrong{0};

static void allocate(unsigned seed) {
  void* kept[64] = {};
  while (!over) {
    const unsigned i = rand_r(&seed) % 64, size = 16 + rand_r(&seed) % 5000;
    free(kept[i]);
    kept[i] = malloc(size);
    memset(kept[i], static_cast<int>(i), size);
    if (*static_cast<unsigned char*>(kept[i]) != i) wrong++;
  }
  for (void* one : kept) free(one);
}

static void load() {
  while (!over) {
    for (const char* name : {"libm.so.6", "libresolv.so.2", "libutil.so.1", "librt.so.1", "libanl.so.1"}) {
      if (void* library = dlopen(name, RTLD_NOW)) dlclose(library);
    }
  }
}

static void start_threads() {
  while (!over) {
    pthread_t thread;
    int seen = 0;
    const auto body = [](void* to) -> void* { return *static_cast<int*>(to) = 7, to; };
    if (pthread_create(&thread, nullptr, body, &seen) != 0) continue;
    pthread_join(thread, nullptr);
    if (seen != 7) wrong++;
  }
}

int main(int, char** argv) {
  std::thread workers[] = {std::thread(allocate, 1u), std::thread(allocate, 2u), std::thread(load),
                           std::thread(start_threads)};
  puts("ready");
  fflush(stdout);
  while (access(argv[1], F_OK) != 0) usleep(20000);
  over = true;
  for (auto& one : workers) one.join();
  printf("0 %ld\n", wrong.load());
}

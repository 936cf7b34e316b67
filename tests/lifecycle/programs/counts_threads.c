// Prints its number of threads as CPython reads it after a fork: alone, with two more, alone again.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

static pthread_barrier_t begin, end;

static void* thread(void* unused) {
  pthread_barrier_wait(&begin);
  pthread_barrier_wait(&end);
  return unused;
}

static void count(const char* mode) {
  if (fork() == 0) _exit(0);
  char line[1024];
  FILE* file = fopen("/proc/self/stat", mode);
  size_t size = fread(line, 1, sizeof line - 1, file);
  line[size] = 0;
  int pid = 0, fields = 2;
  sscanf(line, "%d", &pid);
  char* at = strrchr(line, ')');
  for (int field = 2; field < 20; field++) at = strchr(at, ' ') + 1;
  for (char* rest = strrchr(line, ')') + 1; *rest; rest++) fields += *rest == ' ';
  printf("%d threads, own line %d, %d fields, at its end %d, as a descriptor %d\n", atoi(at), pid == getpid(), fields,
         fgetc(file) == EOF, fileno(file));
  fclose(file);
  wait(NULL);
}

int main(void) {
  burn_s(0.05);
  count("r");
  pthread_barrier_init(&begin, NULL, 3);
  pthread_barrier_init(&end, NULL, 3);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, thread, NULL);
  pthread_barrier_wait(&begin);
  count("re");
  pthread_barrier_wait(&end);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  burn_s(0.01);  // joined is not yet gone for the kernel
  count("rb");
  return 0;
}

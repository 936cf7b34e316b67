// A native torch program: ROUNDS times the same work.
//   main ROUNDS            on the main thread; prints a sum, ends with 3
//   main ROUNDS thread     half of the rounds on a second thread, one after the other
//   main ROUNDS fork       as often again in a forked child
//   main ROUNDS kill       dies by SIGKILL after the work
//   main ROUNDS small      small operators only, many of them
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

extern "C" double work();
extern "C" double small(long rounds);

int main(int argc, char** argv) {
  long rounds = argc > 1 ? std::atol(argv[1]) : 1;
  std::string mode = argc > 2 ? argv[2] : "";
  double sum = 0;
  auto run = [&](long count) {
    for (long i = 0; i < count; i++) sum += work();
  };
  if (mode == "small") {
    sum = small(rounds);
  } else {
    long here = mode == "thread" ? rounds / 2 : rounds;
    run(here);
    if (here < rounds) std::thread(run, rounds - here).join();
  }
  if (mode == "fork") {
    pid_t child = fork();
    if (child == 0) {
      run(rounds);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  std::printf("%ld rounds, sum %.1f\n", rounds, sum);
  std::fflush(stdout);
  if (mode == "kill") kill(getpid(), SIGKILL);
  return 3;
}

// Loaded and unloaded again and again by soak.cpp.
int soak_work(int n) {
  volatile int x = 0;
  for (int i = 0; i < n; i++) x += i;
  return x >= 0 ? x : -x;
}

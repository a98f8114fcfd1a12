// Functions and data that GCC 12's library and headers use and that glibc has only had since 2.28 or later.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#define HIDDEN
// 2.32. Whether there is but one thread, which std::shared_ptr asks to leave atomics out: never said.
char __libc_single_threaded = 0;
// 2.36
uint32_t arc4random(void) {
  uint32_t value;
  if (getentropy(&value, sizeof value) != 0) abort();
  return value;
}
// 2.33. Before, programs had a stat of their own, which called this.
int __xstat(int version, const char* path, struct stat* result);
int stat(const char* path, struct stat* result) { return __xstat(1, path, result); }
// 2.28
int fcntl64(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl(file, command, argument);
}
// 2.30
int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const struct timespec* until) {
  struct timespec now, real;
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(c, m, until);
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  long long ns = (until->tv_sec - now.tv_sec) * 1000000000LL + (until->tv_nsec - now.tv_nsec) + real.tv_nsec;
  long long s = ns / 1000000000LL;
  ns %= 1000000000LL;
  if (ns < 0) { ns += 1000000000LL; --s; }
  real.tv_sec += s;
  real.tv_nsec = ns;
  return pthread_cond_timedwait(c, m, &real);
}

/* A program may end while its threads load models, run them and optimise: nothing that they use may be gone
 * before they are. Usage: exit_test LIBAXRUN DEMONSTRATION_MODEL [ROUNDS]
 *
 * Starts itself again and again, several at a time. Each of these ends in the middle of things, and stays for
 * a while when everything that libraries wanted to be done at the end is done; memory that was freed is
 * overwritten. The library is loaded late, so that all of it ends before that. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/axrun_c.h"

enum { at_once = 4, standard_rounds = 12, threads = 3, image_size = 3 * 32 * 32, most_images = 64 };

static const char *library_path, *model_path;
static void* library;
static atomic_int begun;

static void fail(const char* what) {
  fprintf(stderr, "exit_test: %s\n", what);
  _exit(1);
}

static void* function(const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) fail(name);
  return found;
}
/* A function of the C interface, as its header declares it. */
#define CALL(name) ((__typeof__(&(name)))(uintptr_t)function(#name))
#define REQUIRE(call)                    \
  do {                                   \
    if ((call) != AXRUN_OK) fail(#call); \
  } while (0)

static void run(axrun_session* session, int64_t images) {
  static float zeros[most_images * image_size];
  const int64_t dims[4] = {images, 3, 32, 32};
  const axrun_tensor image = {AXRUN_F32, 4, dims, zeros, (size_t)images * image_size * sizeof(float)};
  axrun_request* request;
  REQUIRE(CALL(axrun_request_create)(session, &request));
  REQUIRE(CALL(axrun_bind_input)(request, 0, &image));
  REQUIRE(CALL(axrun_run)(request));
  CALL(axrun_request_free)(request);
}

/* For ever: a model is loaded, runs with shapes that it has not met, and is left to its optimiser. */
static void* work(void* unused) {
  for (;;) {
    axrun_session* session;
    REQUIRE(CALL(axrun_session_load)(model_path, NULL, &session));
    for (int64_t images = 1; images <= 8; ++images) run(session, images);
    for (int k = 0; k < 3; ++k) run(session, 1);
    ++begun;
    CALL(axrun_session_free)(session);
  }
  return unused;
}

static void stay(void) { usleep(100000); }

/* One process that ends in the middle of things. */
static int end_in_between(unsigned round) {
  mallopt(M_PERTURB, 0xa5);
  atexit(stay); /* before the library is there: called after all that it wants to be done */
  library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail(dlerror());
  axrun_session* kept;
  REQUIRE(CALL(axrun_session_load)(model_path, NULL, &kept));
  for (int k = 0; k < 3; ++k) run(kept, 1); /* its optimiser works */
  for (int k = 0; k < threads; ++k) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0) fail("no thread");
  }
  while (begun == 0) usleep(1000);
  usleep(round % 7 * 3000); /* anywhere */
  exit(0);
}

int main(int argc, char** argv) {
  if (argc < 3) fail("usage: exit_test LIBAXRUN MODEL [ROUNDS]");
  library_path = argv[1], model_path = argv[2];
  const char* round_of_child = getenv("EXIT_TEST_ROUND");
  if (round_of_child != NULL) return end_in_between((unsigned)atoi(round_of_child));
  const int rounds = argc > 3 ? atoi(argv[3]) : standard_rounds;
  int failed = 0;
  for (int started = 0, ended = 0; ended < rounds;) {
    if (started < rounds && started - ended < at_once) {
      const pid_t child = fork();
      if (child < 0) fail("no process");
      if (child == 0) {
        char round[16];
        snprintf(round, sizeof round, "%d", started);
        setenv("EXIT_TEST_ROUND", round, 1);
        execv("/proc/self/exe", argv);
        fail("cannot be started again");
      }
      ++started;
      continue;
    }
    int status;
    if (wait(&status) < 0) fail("no child");
    ++ended;
    if (status == 0) continue;
    ++failed;
    if (WIFSIGNALED(status))
      fprintf(stderr, "a process ended with signal %d\n", WTERMSIG(status));
    else
      fprintf(stderr, "a process ended with status %d\n", WEXITSTATUS(status));
  }
  printf("%d of %d processes did not end well\n", failed, rounds);
  return failed == 0 ? 0 : 1;
}

/* Counts the edges of programs that clang instruments, for `wireproof fuzz server --coverage`.
 *
 *     clang -c -O1 "$(wireproof fuzz coverage-runtime)" -o coverage.o
 *     clang -fsanitize-coverage=trace-pc-guard my_server.c coverage.o -o my-server
 *
 * WIREPROOF_COVERAGE names a file of 65,536 bytes, one counter for each edge. It is mapped shared, so that processes
 * that the program forks count in it, too. A counter stays at 255. Without the variable the program runs as ever.
 * Counters are written without a lock: a count may be lost between threads, an edge that was taken never is.
 * Link this file once. It is not instrumented itself, whatever the flags.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE 65536u
#if defined(__clang__)
#define NOT_INSTRUMENTED __attribute__((no_sanitize("coverage", "address", "memory", "thread", "undefined")))
#else
#define NOT_INSTRUMENTED
#endif

static uint8_t unused[SIZE];
static uint8_t *counters = unused;
static uint32_t guards;

NOT_INSTRUMENTED static void map_counters(void)
{
    const char *path = getenv("WIREPROOF_COVERAGE");
    if (path == NULL || *path == '\0')
        return;
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    void *map = MAP_FAILED;
    if (descriptor >= 0) {
        map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        close(descriptor);
    }
    if (map == MAP_FAILED)
        perror("WIREPROOF_COVERAGE: cannot map the file of counters");
    else
        counters = map;
}

/* Called once for each shared object, before its code runs. Guards of one build always get the same numbers. */
NOT_INSTRUMENTED void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop)
{
    if (start == stop || *start != 0)
        return;
    if (guards == 0)
        map_counters();
    for (uint32_t *guard = start; guard < stop; guard++)
        *guard = ++guards;
}

/* Called at each edge. */
NOT_INSTRUMENTED void __sanitizer_cov_trace_pc_guard(uint32_t *guard)
{
    uint8_t *counter = &counters[*guard % SIZE];
    if (*counter != 255)
        ++*counter;
}
